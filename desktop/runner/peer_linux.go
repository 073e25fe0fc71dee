package runner

import (
	"bufio"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// peerIsOwn tells whether the process at the far end of a loopback connection is of the Runner's own user: the kernel's
// table of connections names the user of each. remote is the far end's address.
func peerIsOwn(remote, local netip.AddrPort) bool {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if uid, ok := ownerOf(table, remote, local); ok {
			return uid == os.Geteuid()
		}
	}
	return false
}

// ownerOf finds the user of the socket from one address to another.
func ownerOf(table string, from, to netip.AddrPort) (uid int, ok bool) {
	f, err := os.Open(table)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			continue
		}
		a, okA := procAddr(fields[1])
		b, okB := procAddr(fields[2])
		if okA && okB && same(a, from) && same(b, to) {
			uid, err := strconv.Atoi(fields[7])
			return uid, err == nil
		}
	}
	return 0, false
}

func same(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && a.Addr().Unmap() == b.Addr().Unmap()
}
