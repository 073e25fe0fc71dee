//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
)

// asked bounds how many Sandboxes List asks at a time.
const asked = 32

// List tells every Sandbox of the state folder; see sandbox.Backend. It takes as long as the slowest answer, at most
// Options.Answer for each 32 Sandboxes.
func (b *Backend) List(ctx context.Context) ([]sandbox.Info, error) {
	entries, err := os.ReadDir(b.state)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, asked)
		infos = make([]sandbox.Info, len(entries))
		errs  = make([]error, len(entries))
	)
	for i, e := range entries {
		id := sandbox.ID(e.Name())
		if !e.IsDir() || checkID(id) != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			infos[i].ID = id
			infos[i].State, infos[i].Started, errs[i] = b.look(ctx, id)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err // half a list would pass for the whole
	}
	var found []sandbox.Info
	for _, info := range infos {
		if info.ID != "" {
			found = append(found, info)
		}
	}
	return found, nil
}

// look tells the state of one Sandbox without changing it.
func (b *Backend) look(ctx context.Context, id sandbox.ID) (sandbox.State, time.Time, error) {
	box := b.box(id)
	rec, err := box.load()
	if errors.Is(err, errCorrupt) {
		state, err := b.ask(ctx, box)
		return state, time.Time{}, err
	}
	if err != nil {
		return "", time.Time{}, err
	}
	if !rec.alive() {
		return sandbox.Stopped, time.Time{}, nil
	}
	state, err := b.ask(ctx, box)
	if state == sandbox.Stopped && rec.alive() {
		state = sandbox.Sick // PID 1 is there, and nobody listens
	}
	if state == sandbox.Stopped {
		return state, time.Time{}, err
	}
	return state, rec.Started, err
}

// ask asks the agent behind a box's socket for a sign of life. An error is the context's, and says nothing of the agent.
func (b *Backend) ask(ctx context.Context, box box) (sandbox.State, error) {
	bounded, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	conn, err := agent.Dial(bounded, box.socket())
	if err == nil {
		err = conn.Ping(bounded)
		conn.Close()
	}
	switch {
	case err == nil:
		return sandbox.Running, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return sandbox.Stopped, nil
	default:
		return sandbox.Sick, nil
	}
}
