//go:build linux

package microsandbox

import (
	"path/filepath"
	"testing"

	"claude-hub/internal/claudehub"
)

func TestKVM(t *testing.T) {
	refused(t, tryKVM("/nonexistent"), claudehub.Unavailable, "has no KVM")
	refused(t, tryKVM("/dev/null"), claudehub.Unavailable, "no KVM device")
	cpuinfo := filepath.Join(t.TempDir(), "cpuinfo")
	write(t, cpuinfo, "processor\t: 0\nflags\t\t: fpu vme svmx\n")
	refused(t, virtualizes(cpuinfo, "amd64"), claudehub.Unavailable, "offers no virtualization")
	if err := virtualizes(cpuinfo, "arm64"); err != nil {
		t.Error(err)
	}
	write(t, cpuinfo, "processor\t: 0\nflags\t\t: fpu svm vme\n")
	if err := virtualizes(cpuinfo, "amd64"); err != nil {
		t.Error(err)
	}
}
