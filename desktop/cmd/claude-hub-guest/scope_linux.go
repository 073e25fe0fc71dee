package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scopeABI is the first Landlock that knows scopes (Linux 6.12).
const scopeABI = 6

// scope keeps this Sandbox's programs from the abstract unix sockets of the machine: they belong to the network, which
// is shared, and not to the file system, which is not; a desktop's X server listens on one. Where the kernel cannot,
// nothing is done, and the doctor says so.
//
// A restriction holds for a thread and its children, and this program has several threads by now. So it starts itself
// anew from the one that is restricted, and returns only when there was nothing to do.
func scope() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < scopeABI {
		return nil //nolint:nilerr // a kernel without it is not an error; the doctor tells
	}
	runtime.LockOSThread()
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make scope: %w", errno)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("enter scope: %w", errno)
	}
	unix.CloseOnExec(int(ruleset))
	if err := syscall.Exec("/proc/self/exe", append(os.Args, "-scoped"), os.Environ()); err != nil {
		return fmt.Errorf("start anew: %w", err)
	}
	return nil
}
