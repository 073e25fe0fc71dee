//go:build linux

package bubblewrap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// denied are the system calls that no program in a Sandbox needs and that reach for the machine. Most need
// capabilities that a Sandbox lacks anyway; the filter also keeps their code, and its bugs, out of reach. A name that
// an architecture lacks is skipped there.
var denied = []string{
	// the file system tree
	"mount", "umount", "umount2", "pivot_root", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "open_by_handle_at", "chroot", "quotactl", "quotactl_fd", "fanotify_init",
	// namespaces; for clone see prologue
	"unshare", "setns",
	// the kernel itself
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
	"get_kernel_syms", "query_module", "bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "nfsservctl",
	"syslog", "reboot", "swapon", "swapoff", "acct", "uselib", "_sysctl", "sysfs", "ustat",
	// keys are shared by all processes of a user, also outside
	"keyctl", "add_key", "request_key",
	// the machine's clock, name and ports
	"settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "stime",
	"sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "vhangup", "kcmp",
}

// absent are calls that programs try and do without: for them they must look like those of an older kernel. io_uring
// would carry calls past the filter.
var absent = []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}

// namespaceFlags are those of clone. clone3 has them in memory, where a filter cannot look, so it is absent too, and C
// libraries fall back to clone.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Where a filter finds a call's number, its architecture, and the lower half of an argument (on little-endian machines,
// which all of ours are).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// owners are the calls that give a file to another user. In a build with a single user there is no other, and package
// managers give away half of what they unpack: there these calls succeed and change nothing. Who owns what in an Image
// does not matter, since every Sandbox made of it has one user too.
var owners = []string{"chown", "chown32", "fchown", "fchown32", "lchown", "lchown32", "fchownat"}

// filter is the system call filter as bwrap reads it. A build may chroot, which some package managers do to run scripts
// (it leads nowhere: nothing of the machine is in the Sandbox's tree); with single it has but one user to give.
func filter(build, single bool) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("filter system calls: %w", err)
	}
	has := func(name string) bool { _, ok := info.SyscallNames[name]; return ok }
	known := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !has(n) })
	}
	never := known(denied)
	if build {
		never = slices.DeleteFunc(never, func(n string) bool { return n == "chroot" })
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM), Names: never},
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known(absent)},
		},
	}
	body, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("filter system calls: %w", err)
	}
	first := prologue(info)
	if single {
		for _, call := range known(owners) {
			first = append(first, when(info, call, bpf.RetConstant{Val: uint32(seccomp.ActionErrno)})...) // errno 0: it succeeds
		}
	}
	program, err := bpf.Assemble(append(first, body...))
	if err != nil {
		return nil, fmt.Errorf("filter system calls: %w", err)
	}
	var out bytes.Buffer
	for _, i := range program {
		if err := binary.Write(&out, binary.NativeEndian, i); err != nil {
			return nil, fmt.Errorf("filter system calls: %w", err)
		}
	}
	return out.Bytes(), nil
}

// prologue goes before the list of names, with what the list cannot say: calls of another architecture (32-bit programs
// have numbers of their own, and would slip through), calls newer than the list, and rules on arguments, of which the
// kernel looks at the lower 32 bits alone, so that the filter must too.
func prologue(info *arch.Info) []bpf.Instruction {
	errno := func(e unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(e)}
	}
	newest := 0
	for _, n := range info.SyscallNames {
		newest = max(newest, n)
	}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		errno(unix.ENOSYS),
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(newest), SkipTrue: 1},
		errno(unix.ENOSYS),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number(info, "clone3"), SkipTrue: 1},
		errno(unix.ENOSYS),
	}
	p = append(p, when(info, "clone",
		bpf.LoadAbsolute{Off: offArgs, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: namespaceFlags, SkipTrue: 1},
		errno(unix.EPERM),
	)...)
	p = append(p, when(info, "ioctl",
		bpf.LoadAbsolute{Off: offArgs + 8, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 2}, // types into someone else's terminal
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCSETD, SkipTrue: 1},
		errno(unix.EPERM),
	)...)
	for _, call := range []string{"socket", "socketpair"} {
		p = append(p, when(info, call,
			bpf.LoadAbsolute{Off: offArgs, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 6},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 5},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 2},
			bpf.LoadAbsolute{Off: offArgs + 16, Size: 4}, // of netlink the part that lists addresses
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipTrue: 1},
			errno(unix.EAFNOSUPPORT),
		)...)
	}
	return p
}

func number(info *arch.Info, name string) uint32 { return uint32(info.SyscallNames[name]) }

// when runs the rule for one call. The rule may use the accumulator and falls off its end to go on.
func when(info *arch.Info, call string, rule ...bpf.Instruction) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number(info, call), SkipTrue: uint8(len(rule))},
	}
	p = append(p, rule...)
	return append(p, bpf.LoadAbsolute{Off: offNumber, Size: 4})
}
