//go:build linux

package bubblewrap

import (
	"fmt"
	"os"
	"strconv"
)

// A build under a Runner that is root has 65536 users, as a machine has: root is the Runner's own user, so that it can
// read its own images, and the rest are numbers of this machine that nobody has. Under any other Runner a build has root
// alone; see owners.
const (
	otherUsers = 0x70000000 // beyond those that systemd and shadow give to people, services and containers
	userCount  = 65536
)

// outsideUser is the number on this machine of a user of an image.
func outsideUser(id int) int {
	switch {
	case id <= 0:
		return 0
	case id >= userCount:
		return otherUsers + 65534 // nobody
	}
	return otherUsers + id
}

// mapUsers gives the user namespace of a process that waits for it its users, and lets the process go on.
func mapUsers(pid int, wait *os.File) error {
	text := fmt.Sprintf("0 0 1\n1 %d %d\n", otherUsers+1, userCount-1)
	for _, name := range []string{"uid_map", "gid_map"} {
		if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/"+name, []byte(text), 0); err != nil {
			return fmt.Errorf("map users: %w", err)
		}
	}
	if _, err := wait.Write([]byte{1}); err != nil {
		return fmt.Errorf("let bwrap go on: %w", err)
	}
	return nil
}

// capabilities are what package managers need, and have power over the build's own files and processes alone. A Session
// has none.
func (p *plan) capabilities() []string {
	if !p.build {
		return nil
	}
	return []string{
		"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETUID", "CAP_SYS_CHROOT",
	}
}
