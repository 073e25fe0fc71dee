package microsandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

const (
	kvmGetAPIVersion = 0xae00
	kvmCreateVM      = 0xae01
)

// hypervisor makes a VM without anything in it: nothing less proves that this user can. Nor is that enough by itself:
// some machines that are virtual themselves make one, and fail to run it.
func hypervisor() error {
	return cmp.Or(tryKVM("/dev/kvm"), virtualizes("/proc/cpuinfo", runtime.GOARCH))
}

// virtualizes refuses a processor that does not say it can.
func virtualizes(cpuinfo, arch string) error {
	if arch != "amd64" {
		return nil // the others do not say
	}
	raw, err := os.ReadFile(cpuinfo)
	if err != nil {
		return fmt.Errorf("read processor: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if name, flags, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			if has := strings.Fields(flags); slices.Contains(has, "vmx") || slices.Contains(has, "svm") {
				return nil
			}
		}
	}
	return claudehub.Errorf(claudehub.Unavailable,
		"This processor offers no virtualization (neither vmx nor svm). Turn it on in the machine's firmware, or, when it is a virtual machine itself, nested virtualization in its host.")
}

func tryKVM(device string) error {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV):
		return claudehub.WithCause(claudehub.Unavailable, err,
			"This machine has no KVM (%s). Turn virtualization on in its firmware, or, when it is a virtual machine itself, nested virtualization in its host; then modprobe kvm_intel or kvm_amd.", device)
	case errors.Is(err, os.ErrPermission):
		return claudehub.WithCause(claudehub.Unavailable, err,
			"This user may not use %s. Add it to the group kvm (sudo usermod -aG kvm $USER), and sign in again.", device)
	case err != nil:
		return claudehub.WithCause(claudehub.Unavailable, err, "%s cannot be opened (%v). Check that KVM works on this machine.", device, err)
	}
	defer unix.Close(fd)
	version, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), kvmGetAPIVersion, 0)
	if errno != 0 || version != 12 {
		return claudehub.WithCause(claudehub.Unavailable, errno, "%s is no KVM device that this version knows.", device)
	}
	vm, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), kvmCreateVM, 0)
	if errno != 0 {
		return claudehub.WithCause(claudehub.Unavailable, errno,
			"KVM makes no VM on this machine (%v). Another hypervisor may hold the processor: end it, and try again.", errno)
	}
	unix.Close(int(vm))
	return nil
}
