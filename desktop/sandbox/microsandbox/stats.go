package microsandbox

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// usageTimeout bounds how long live figures wait for the guest: the rest of them is worth having without.
const usageTimeout = time.Second

// Stats looks at the VM's process and disk from outside, and asks the guest for the rest.
func (b *Backend) Stats(ctx context.Context, id sandbox.ID) (sandbox.Stats, error) {
	if err := checkID(id); err != nil {
		return sandbox.Stats{}, err
	}
	rec, err := b.box(id).load()
	if err != nil {
		return sandbox.Stats{}, err
	}
	pid, err := b.pid(id)
	if err != nil {
		return sandbox.Stats{}, err
	}
	if rec == nil && pid == 0 {
		return sandbox.Stats{}, claudehub.Errorf(claudehub.NotFound, "The Sandbox %s is not there. Start it first.", id)
	}
	s := sandbox.Stats{DiskBytes: allocated(b.disk(id)) + allocated(b.box(id).dir)}
	if pid == 0 {
		return s, nil
	}
	if rec != nil {
		s.MemoryLimit = rec.Memory
	}
	if p, err := process.NewProcessWithContext(ctx, int32(pid)); err == nil { // it may have ended just now
		if m, err := p.MemoryInfoWithContext(ctx); err == nil {
			s.MemoryBytes = int64(m.RSS) //nolint:gosec // no process has 8 EiB
		}
		if t, err := p.TimesWithContext(ctx); err == nil {
			s.CPU = time.Duration((t.User + t.System) * float64(time.Second))
		}
	}
	b.askUsage(ctx, id, &s)
	return s, nil
}

// askUsage fills in what only the guest knows. A guest that does not answer leaves it out.
func (b *Backend) askUsage(ctx context.Context, id sandbox.ID, s *sandbox.Stats) {
	d := b.opened(id)
	if d == nil {
		var err error
		if d, err = b.door(id); err != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, b.times(usageTimeout))
	defer cancel()
	conn, err := d.next(ctx, b.times(usageTimeout))
	if err != nil {
		return
	}
	defer conn.Close()
	if u, err := conn.Usage(ctx); err == nil {
		s.GuestMemory, s.Processes = u.Memory, u.Processes
	}
}

// allocated is what a folder or file takes on the disk. Files that are shared are counted where they are.
func allocated(root string) int64 {
	var n int64
	_ = filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error { // what goes meanwhile takes nothing
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		if info, err := e.Info(); err == nil {
			n += blocks(info)
		}
		return nil
	})
	return n
}

func blocks(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
