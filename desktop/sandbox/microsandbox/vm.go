package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// A VM is one process, "msb sandbox --name NAME …", and NAME is nobody else's. So a process whose command line says so
// is that VM, whatever its number, on whichever boot, and however the clock was moved.

// vmName is the name of the VM that a command line is of, or "".
func vmName(args []string) string {
	if len(args) < 4 || args[1] != "sandbox" {
		return ""
	}
	if i := slices.Index(args, "--name"); i > 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// running finds the processes of our VMs.
func (b *Backend) running() (map[sandbox.ID]int, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	found := map[sandbox.ID]int{}
	for _, pid := range all {
		if id, ok := strings.CutPrefix(vmName(commandLine(pid)), b.prefix); ok {
			found[sandbox.ID(id)] = pid
		}
	}
	return found, nil
}

// pid is the process of one VM; 0 when it does not run.
func (b *Backend) pid(id sandbox.ID) (int, error) {
	rec, err := b.box(id).load()
	if err != nil {
		return 0, err
	}
	if rec != nil && rec.Pid > 0 && b.is(id, rec.Pid) {
		return rec.Pid, nil
	}
	all, err := b.running()
	if err != nil {
		return 0, err
	}
	return all[id], nil
}

func (b *Backend) is(id sandbox.ID, pid int) bool { return vmName(commandLine(pid)) == b.vm(id) }

// kill ends a VM's process and returns when it has ended.
func (b *Backend) kill(ctx context.Context, id sandbox.ID) error {
	ctx, cancel := context.WithTimeout(ctx, b.times(answerTimeout))
	defer cancel()
	for {
		pid, err := b.pid(id)
		if err != nil || pid == 0 {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill VM: %w", err)
		}
		select {
		case <-ctx.Done():
			return claudehub.WithCause(claudehub.Unavailable, context.Cause(ctx),
				"The Sandbox's VM (process %d) was killed and has not ended: it waits for a disk. Try again when that answers.", pid)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
