package microsandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Check is the doctor: everything that a Start needs and that can be seen beforehand.
func (b *Backend) Check(ctx context.Context) []sandbox.Finding {
	return []sandbox.Finding{
		finding("hypervisor", "a VM can be made", hypervisor()),
		b.checkTool(ctx),
		b.checkGuest(),
		finding("xattrs", b.state+" can keep them", b.checkXattrs()),
		b.checkDatabase(ctx),
		b.checkDisk(),
		checkMemory(),
		checkRoute(),
	}
}

// Ready tells whether microVMs can be used here, and if not, the first reason. It is quick, and starts msb only to ask
// for its version.
func (b *Backend) Ready(ctx context.Context) error {
	if err := hypervisor(); err != nil {
		return err
	}
	if _, err := b.tool(ctx); err != nil {
		return err
	}
	return b.checkXattrs()
}

// finding is a line from an error whose sentence says what to do. None of those lets a Session start.
func finding(name, good string, err error) sandbox.Finding {
	if err == nil {
		return sandbox.Finding{Name: name, OK: true, Detail: good}
	}
	what, fix := cut(claudehub.MessageOf(err))
	return sandbox.Finding{Name: name, Fatal: true, Detail: what, Fix: fix}
}

// cut parts a sentence on what happened from those on what to do.
func cut(message string) (what, fix string) {
	for i := 1; i < len(message)-2; i++ {
		if message[i] == '.' && message[i+1] == ' ' && message[i+2] >= 'A' && message[i+2] <= 'Z' {
			return message[:i], message[i+2:]
		}
	}
	return message, ""
}

func (b *Backend) checkTool(ctx context.Context) sandbox.Finding {
	path, err := b.tool(ctx)
	return finding("msb", fmt.Sprintf("%s, version %s", path, Pinned), err)
}

func (b *Backend) checkGuest() sandbox.Finding {
	_, err := os.Stat(b.guest)
	if err != nil {
		err = claudehub.WithCause(claudehub.Unavailable, err, "The program %s is not there. Install the Runner again, whole.", b.guest)
	}
	return finding("guest program", b.guest, err)
}

// checkDatabase opens msb's database in the way that every Start does.
func (b *Backend) checkDatabase(ctx context.Context) sandbox.Finding {
	if _, err := b.tool(ctx); err != nil {
		return sandbox.Finding{Name: "msb's state", Detail: "not looked at: msb is not there", Fix: "See msb."}
	}
	_, err := b.msb(ctx, call{args: []string{"image", "ls", "--format", "json"}})
	return finding("msb's state", b.home(), sentence(ctx, err, "msb's own state in "+b.home()+" cannot be used"))
}

// roomNeeded is what a Sandbox and its image need at the least.
const roomNeeded = 2 << 30

func (b *Backend) checkDisk() sandbox.Finding {
	u, err := disk.Usage(b.state)
	if err != nil {
		return sandbox.Finding{Name: "disk", Detail: "cannot be seen: " + err.Error(), Fix: "Check the disk that holds " + b.state + "."}
	}
	f := sandbox.Finding{Name: "disk", OK: u.Free >= roomNeeded, Detail: size(int64(u.Free)) + " free in " + b.state} //nolint:gosec // no disk has 8 EiB
	if !f.OK {
		f.Fix = "Free some space: a Sandbox and its image need 2 GB at the least."
	}
	return f
}

func checkMemory() sandbox.Finding {
	m, err := mem.VirtualMemory()
	if err != nil {
		return sandbox.Finding{Name: "memory", Detail: "cannot be seen: " + err.Error(), Fix: "None is needed, if Sessions start."}
	}
	f := sandbox.Finding{Name: "memory", OK: m.Total >= 4<<30, Detail: fmt.Sprintf("%s, %d CPUs", size(int64(m.Total)), runtime.NumCPU())} //nolint:gosec // no machine has 8 EiB
	if !f.OK {
		f.Fix = "Give Environments less memory than the 4 GB of the default: this machine does not have them."
	}
	return f
}

func checkRoute() sandbox.Finding {
	f := sandbox.Finding{Name: "network", OK: routed(), Detail: "this machine has an IPv4 route out"}
	if !f.OK {
		f.Detail = "this machine has no IPv4 default route: its microVMs would have no network"
		f.Fix = "Connect it to a network before Sessions start."
	}
	return f
}

// checkXattrs tries what msb does with each folder that a VM sees, its temporary one included.
func (b *Backend) checkXattrs() error {
	f, err := os.CreateTemp(b.tmp(), "try-*")
	if err != nil {
		return noRecord(filepath.Join(b.tmp(), "try"), err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := setXattr(f.Name()); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err,
			"%s is on a file system without extended attributes (\"user.\" xattrs), which microVMs need. Move the Runner's state folder (--dir) to ext4, xfs, btrfs or APFS; tmpfs has them since Linux 6.6.", b.state)
	}
	return nil
}
