package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitable returns true once the child has ended, and leaves it to be collected: until then its pid is not given away.
func waitable(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
