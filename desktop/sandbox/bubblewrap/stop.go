//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// killTimeout bounds how long the kernel may take to end what was killed: a process in an uninterruptible wait holds
// it up.
const killTimeout = 10 * time.Second

// Stop ends a Sandbox's processes; see sandbox.Backend.
func (b *Backend) Stop(ctx context.Context, id sandbox.ID, grace time.Duration) error {
	if err := checkID(id); err != nil {
		return err
	}
	unlock, err := b.lock(ctx, id)
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
	unlock, err := b.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.stop(ctx, id, 0); err != nil {
		return err
	}
	if err := removeTree(b.box(id).dir); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox's folder %s cannot be removed. Mend its permissions and try again.", b.box(id).dir)
	}
	return nil
}

func (b *Backend) stop(ctx context.Context, id sandbox.ID, grace time.Duration) error {
	box := b.box(id)
	rec, err := box.load()
	if errors.Is(err, errCorrupt) {
		return b.stopUnrecorded(ctx, id)
	}
	if err != nil {
		return err
	}
	if rec.alive() {
		if err := b.end(ctx, box, rec, grace); err != nil {
			return err
		}
	}
	return b.clear(ctx, id)
}

// end asks the agent, gives it the grace, and then has the kernel end PID 1 and with it everyone.
func (b *Backend) end(ctx context.Context, box box, rec *record, grace time.Duration) error {
	h, err := rec.Init.open()
	if err != nil {
		return err
	}
	defer h.close()
	if grace > 0 && b.askToEnd(ctx, box) == nil {
		polite, cancel := context.WithTimeout(ctx, grace)
		err := h.wait(polite)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := h.kill(); err != nil {
		return err
	}
	dead, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := h.wait(dead); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err,
			"The Sandbox was killed and its processes (PID 1 is %d here) have not ended: something in it waits for a disk or network share. Try again when that answers.", rec.Init.Pid)
	}
	return nil
}

// askToEnd fails when the agent does not answer, and then no grace is of use.
func (b *Backend) askToEnd(ctx context.Context, box box) error {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	conn, err := agent.Dial(ctx, box.socket())
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Shutdown(ctx)
}

// stopUnrecorded stops a Sandbox whose record is broken: its agent can still be asked, and closes its socket as it
// goes, which is a moment before its process has ended: without the record nobody can say which that is. Nobody is killed
// by guess.
func (b *Backend) stopUnrecorded(ctx context.Context, id sandbox.ID) error {
	box := b.box(id)
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	_ = b.askToEnd(ctx, box) // whether it worked is seen below
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		state, err := b.ask(ctx, box)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && state == sandbox.Stopped {
			return box.forget()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return claudehub.Errorf(claudehub.Unavailable,
				"The record of Sandbox %s (%s) is damaged and its agent does not end it. End the bwrap process that has this folder's agent.sock open, and try again.", id, box.record())
		}
	}
}

// clear removes what a Sandbox that is not running left: processes outside it, cgroups, socket and record.
func (b *Backend) clear(ctx context.Context, id sandbox.ID) error {
	box := b.box(id)
	rec, err := box.load()
	if err != nil && !errors.Is(err, errCorrupt) {
		return err
	}
	if rec != nil {
		boot, err := bootID()
		if err != nil {
			return err
		}
		if rec.Boot == boot {
			if err := kill(ctx, rec.Monitor); err != nil {
				return err
			}
		}
		if err := release(rec.Cgroups); err != nil {
			return err
		}
	}
	return box.forget()
}

// kill ends one process and returns when it has ended.
func kill(ctx context.Context, id identity) error {
	h, err := id.open()
	if err != nil || h == nil {
		return err
	}
	defer h.close()
	if err := h.kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := h.wait(ctx); err != nil {
		return fmt.Errorf("wait for process %d to end: %w", id.Pid, err)
	}
	return nil
}

// killTree ends a process and all that it started. It is stopped first: what is stopped starts nothing more.
func killTree(ctx context.Context, root identity) error {
	h, err := root.open()
	if err != nil || h == nil {
		return err
	}
	defer h.close()
	if err := h.signal(unix.SIGSTOP); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if s, err := readStat(root.Pid); err != nil || s.state != 'R' && s.state != 'S' && s.state != 'D' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	all, err := processes()
	if err != nil {
		return err
	}
	for _, s := range descendants(all, root.Pid) {
		if s.pid != root.Pid {
			err = errors.Join(err, kill(ctx, identity{s.pid, s.start}))
		}
	}
	return errors.Join(err, h.kill(), h.wait(ctx))
}
