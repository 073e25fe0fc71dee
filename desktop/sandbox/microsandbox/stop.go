package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Stop ends a Sandbox's processes and its VM; see sandbox.Backend.
func (b *Backend) Stop(ctx context.Context, id sandbox.ID, grace time.Duration) error {
	if err := checkID(id); err != nil {
		return err
	}
	unlock, err := b.lock(ctx, string(id))
	if err != nil {
		return err
	}
	defer unlock()
	return b.stop(ctx, id, grace)
}

// Remove stops a Sandbox and forgets it; see sandbox.Backend.
func (b *Backend) Remove(ctx context.Context, id sandbox.ID) error {
	if err := checkID(id); err != nil {
		return err
	}
	unlock, err := b.lock(ctx, string(id))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(b.disk(id)); errors.Is(err, os.ErrNotExist) && !b.box(id).exists() {
		return b.closeDoor(id)
	}
	if err := b.discard(ctx, id); err != nil {
		return sentence(ctx, err, "The Sandbox could not be removed")
	}
	if err := b.closeDoor(id); err != nil {
		return err
	}
	if err := os.RemoveAll(b.box(id).dir); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox's folder %s cannot be removed. Mend its permissions and try again.", b.box(id).dir)
	}
	return nil
}

// flush is how long a guest's system may take to write its disk.
const flush = 10 * time.Second

func (b *Backend) stop(ctx context.Context, id sandbox.ID, grace time.Duration) error {
	pid, err := b.pid(id)
	if err != nil {
		return err
	}
	if pid == 0 {
		return b.rest(id)
	}
	if grace > 0 && b.askToEnd(ctx, id, grace) == nil {
		// Nothing runs there any more, and the disk is written. "msb stop" would give the guest's system two more seconds for it.
		err = b.terminate(ctx, id, pid)
	} else {
		err = b.shutDown(ctx, id)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		b.log.Warn("a VM is ended by force", "sandbox", id, "error", err)
	}
	if err := b.kill(ctx, id); err != nil {
		return err
	}
	return b.rest(id)
}

// shutDown has msb tell the guest's own system to end what runs and to write its disk. One that does not answer has
// nothing to say.
func (b *Backend) shutDown(ctx context.Context, id sandbox.ID) error {
	state, err := b.ask(ctx, id)
	if err != nil || state != sandbox.Running {
		return err
	}
	seconds := strconv.Itoa(int(b.times(flush).Seconds()))
	_, err = b.msb(ctx, call{args: []string{"stop", "-t", seconds, b.vm(id)}, timeout: callTimeout + flush})
	return err
}

// terminate ends a VM's process as msb does itself once the guest's time is over: told to, it stops the VM and notes that it
// was stopped (seen with msb 0.6.18; ADR 0016).
func (b *Backend) terminate(ctx context.Context, id sandbox.ID, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, b.times(flush))
	defer cancel()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("terminate VM: %w", err)
	}
	for b.is(id, pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("terminate VM: process %d has not ended: %w", pid, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// rest clears away what only a running VM needs.
func (b *Backend) rest(id sandbox.ID) error {
	box := b.box(id)
	if !box.exists() {
		return nil
	}
	rec, err := box.load()
	if err != nil {
		return err
	}
	if rec != nil && (rec.Pid != 0 || !rec.Started.IsZero()) {
		rec.Pid, rec.Started = 0, time.Time{}
		if err := box.save(*rec); err != nil {
			return err
		}
	}
	// msb leaves a folder there for each boot.
	if err := os.RemoveAll(box.tmp()); err != nil {
		return fmt.Errorf("clear temporary folder: %w", err)
	}
	if err := os.Remove(agentSocket(b.home(), b.vm(id))); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear socket: %w", err)
	}
	b.emptyDoor(id)
	return nil
}

// askToEnd asks every process in the Sandbox to end, and returns nil when all have, and the disk is written, within the
// grace.
func (b *Backend) askToEnd(ctx context.Context, id sandbox.ID, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	conn, err := b.call(ctx, id)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Shutdown(ctx); err != nil {
		return err
	}
	return conn.AwaitEnd(ctx)
}
