//go:build linux

package bubblewrap

import (
	"encoding/binary"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs the filter on one call, as the kernel would.
func verdict(t *testing.T, archID uint32, nr int, args ...uint64) uint32 {
	t.Helper()
	return verdictOf(t, false, false, archID, nr, args...)
}

func verdictOf(t *testing.T, build, single bool, archID uint32, nr int, args ...uint64) uint32 {
	t.Helper()
	raw, err := filter(build, single)
	if err != nil {
		t.Fatal(err)
	}
	var program []bpf.Instruction
	for ; len(raw) > 0; raw = raw[8:] {
		program = append(program, bpf.RawInstruction{
			Op: binary.NativeEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.NativeEndian.Uint32(raw[4:]),
		}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// The machine in the library reads packets, whose numbers are big-endian; each half of an argument is a number.
	packet := binary.BigEndian.AppendUint32(nil, uint32(nr))
	packet = binary.BigEndian.AppendUint32(packet, archID)
	packet = append(packet, make([]byte, 8)...)
	for i := range 6 {
		var a uint64
		if i < len(args) {
			a = args[i]
		}
		packet = binary.BigEndian.AppendUint32(packet, uint32(a))
		packet = binary.BigEndian.AppendUint32(packet, uint32(a>>32))
	}
	n, err := vm.Run(packet)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func TestTheFilterDecides(t *testing.T) {
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	native := uint32(info.ID)
	errno := func(e unix.Errno) uint32 { return uint32(seccomp.ActionErrno) | uint32(e) }
	allow := uint32(seccomp.ActionAllow)
	nr := func(name string) int {
		n, ok := info.SyscallNames[name]
		if !ok {
			t.Fatalf("no %s here", name)
		}
		return n
	}
	for name, c := range map[string]struct{ got, want uint32 }{
		"read":                     {verdict(t, native, nr("read")), allow},
		"execve":                   {verdict(t, native, nr("execve")), allow},
		"mount":                    {verdict(t, native, nr("mount")), errno(unix.EPERM)},
		"the last of the list":     {verdict(t, native, nr("kcmp")), errno(unix.EPERM)},
		"io_uring":                 {verdict(t, native, nr("io_uring_setup")), errno(unix.ENOSYS)},
		"another architecture":     {verdict(t, uint32(arch.I386.ID), nr("read")), errno(unix.ENOSYS)},
		"one more architecture":    {verdict(t, uint32(arch.ARM.ID), nr("read")), errno(unix.ENOSYS)},
		"x32":                      {verdict(t, native, nr("read")|0x40000000), errno(unix.ENOSYS)},
		"a call of the future":     {verdict(t, native, 9999), errno(unix.ENOSYS)},
		"fork":                     {verdict(t, native, nr("clone"), uint64(unix.SIGCHLD)), allow},
		"thread":                   {verdict(t, native, nr("clone"), unix.CLONE_VM|unix.CLONE_THREAD|unix.CLONE_SIGHAND), allow},
		"clone of a namespace":     {verdict(t, native, nr("clone"), unix.CLONE_NEWUSER), errno(unix.EPERM)},
		"... among other flags":    {verdict(t, native, nr("clone"), unix.CLONE_VM|unix.CLONE_NEWNET), errno(unix.EPERM)},
		"clone3":                   {verdict(t, native, nr("clone3")), errno(unix.ENOSYS)},
		"window size":              {verdict(t, native, nr("ioctl"), 0, unix.TIOCGWINSZ), allow},
		"TIOCSTI":                  {verdict(t, native, nr("ioctl"), 0, unix.TIOCSTI), errno(unix.EPERM)},
		"TIOCSTI, upper half set":  {verdict(t, native, nr("ioctl"), 0, unix.TIOCSTI|1<<40), errno(unix.EPERM)},
		"TIOCLINUX":                {verdict(t, native, nr("ioctl"), 0, unix.TIOCLINUX), errno(unix.EPERM)},
		"TCP":                      {verdict(t, native, nr("socket"), unix.AF_INET), allow},
		"IPv6":                     {verdict(t, native, nr("socket"), unix.AF_INET6), allow},
		"unix":                     {verdict(t, native, nr("socketpair"), unix.AF_UNIX), allow},
		"vsock":                    {verdict(t, native, nr("socket"), unix.AF_VSOCK), errno(unix.EAFNOSUPPORT)},
		"vsock, upper half set":    {verdict(t, native, nr("socket"), unix.AF_VSOCK|1<<32), errno(unix.EAFNOSUPPORT)},
		"packet":                   {verdict(t, native, nr("socket"), unix.AF_PACKET), errno(unix.EAFNOSUPPORT)},
		"addresses by netlink":     {verdict(t, native, nr("socket"), unix.AF_NETLINK, 0, unix.NETLINK_ROUTE), allow},
		"other netlink":            {verdict(t, native, nr("socket"), unix.AF_NETLINK, 0, unix.NETLINK_NETFILTER), errno(unix.EAFNOSUPPORT)},
		"number 16 is not netlink": {verdict(t, native, nr("bind"), unix.AF_NETLINK, 0, 5), allow},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", name, c.got, c.want)
		}
	}
}

// TestTheFilterNamesRealCalls: a name with a typing mistake would be skipped as one that this machine lacks.
func TestTheFilterNamesRealCalls(t *testing.T) {
	everywhere := map[string]bool{}
	for _, name := range []string{"386", "amd64", "arm", "arm64"} {
		info, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		for call := range info.SyscallNames {
			everywhere[call] = true
		}
	}
	// Newer than the library's list: the rule for unknown numbers refuses it.
	newer := map[string]bool{"open_tree_attr": true}
	for _, call := range append(denied, absent...) {
		if !everywhere[call] && !newer[call] {
			t.Errorf("%s is no system call", call)
		}
	}
}

// TestTheFilterOfABuild differs in what package managers need.
func TestTheFilterOfABuild(t *testing.T) {
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	native := uint32(info.ID)
	errno := func(e unix.Errno) uint32 { return uint32(seccomp.ActionErrno) | uint32(e) }
	allow := uint32(seccomp.ActionAllow)
	for _, c := range []struct {
		call          string
		build, single bool
		want          uint32
	}{
		{"chroot", false, false, errno(unix.EPERM)}, {"chroot", true, false, allow}, {"chroot", true, true, allow},
		{"fchownat", false, false, allow}, {"fchownat", true, false, allow}, {"fchownat", true, true, errno(0)},
		{"fchown", true, true, errno(0)}, {"fchmod", true, true, allow}, {"mount", true, true, errno(unix.EPERM)},
		{"unshare", true, false, errno(unix.EPERM)}, {"setns", true, true, errno(unix.EPERM)}, {"bpf", true, false, errno(unix.EPERM)},
		{"io_uring_setup", true, true, errno(unix.ENOSYS)}, {"clone3", true, false, errno(unix.ENOSYS)}, {"setresuid", true, true, allow},
	} {
		n, ok := info.SyscallNames[c.call]
		if !ok {
			t.Fatalf("no %s here", c.call)
		}
		if got := verdictOf(t, c.build, c.single, native, n); got != c.want {
			t.Errorf("%+v: %x", c, got)
		}
	}
}
