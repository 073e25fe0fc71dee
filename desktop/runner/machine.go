package runner

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Version of this program, set by the build.
var Version = "development"

// measure fills in what changes: load, memory, disk. A figure that this system does not give stays zero.
func measure(ctx context.Context, dir string, m *claudehub.Machine) {
	m.Hostname, _ = os.Hostname() // shown to the person; empty is fine
	m.OS, m.Arch, m.CPUs = runtime.GOOS, runtime.GOARCH, runtime.NumCPU()
	m.Version, m.Protocol = Version, wire.Protocol
	if avg, err := load.AvgWithContext(ctx); err == nil {
		m.Load = avg.Load1
	}
	if v, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		m.MemoryTotal, m.MemoryFree = int64(v.Total), int64(v.Available)
	}
	if u, err := disk.UsageWithContext(ctx, dir); err == nil {
		m.DiskTotal, m.DiskFree = int64(u.Total), int64(u.Free)
	}
	m.Reported = time.Now().UTC()
}
