//go:build !linux

package microsandbox

import (
	"runtime"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

// hypervisor asks the system whether it has one. Apple's needs no permission of the user.
func hypervisor() error {
	if runtime.GOOS != "darwin" || runtime.GOARCH != "arm64" {
		return claudehub.Errorf(claudehub.Unavailable, "microsandbox has no microVMs on %s/%s. Use Linux with KVM, or a Mac with Apple silicon.", runtime.GOOS, runtime.GOARCH)
	}
	if n, err := unix.SysctlUint32("kern.hv_support"); err != nil || n == 0 {
		return claudehub.WithCause(claudehub.Unavailable, err, "This Mac does not offer its hypervisor: it may be a virtual machine itself.")
	}
	return nil
}
