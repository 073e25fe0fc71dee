package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
)

// asked bounds how many Sandboxes List asks at a time.
const asked = 32

// List tells every Sandbox that has a record or a VM; see sandbox.Backend. msb is not asked: it would put its own state
// in order on that occasion, and for seconds.
func (b *Backend) List(ctx context.Context) ([]sandbox.Info, error) {
	vms, err := b.running()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(b.state, "box"))
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var ids []sandbox.ID
	known := map[sandbox.ID]bool{}
	for _, e := range entries {
		if id := sandbox.ID(e.Name()); e.IsDir() && checkID(id) == nil {
			ids, known[id] = append(ids, id), true
		}
	}
	for id := range vms { // one whose record is lost can still be stopped
		if !known[id] && checkID(id) == nil {
			ids = append(ids, id)
		}
	}
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, asked)
		infos = make([]sandbox.Info, len(ids))
		errs  = make([]error, len(ids))
	)
	for i, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			infos[i], errs[i] = b.info(ctx, id, vms[id])
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err // half a list would pass for the whole
	}
	return infos, nil
}

func (b *Backend) info(ctx context.Context, id sandbox.ID, pid int) (sandbox.Info, error) {
	info := sandbox.Info{ID: id, State: sandbox.Stopped}
	if pid == 0 {
		return info, nil
	}
	var err error
	if info.State, err = b.ask(ctx, id); err != nil {
		return info, err
	}
	rec, err := b.box(id).load()
	if rec != nil {
		info.Started = rec.Started
	}
	return info, err
}

// look tells the state of one Sandbox without changing it.
func (b *Backend) look(ctx context.Context, id sandbox.ID) (sandbox.State, error) {
	pid, err := b.pid(id)
	if err != nil {
		return "", err
	}
	info, err := b.info(ctx, id, pid)
	return info.State, err
}

// ask asks msb's own agent in a VM that runs for a sign of life. Connecting proves nothing: the relay on this machine
// answers for it. An error is the context's, and says nothing of the agent.
func (b *Backend) ask(ctx context.Context, id sandbox.ID) (sandbox.State, error) {
	bounded, cancel := context.WithTimeout(ctx, b.times(answerTimeout))
	defer cancel()
	conn, err := agent.DialRelay(bounded, agentSocket(b.home(), b.vm(id)))
	if err == nil {
		err = conn.Ping(bounded)
		conn.Close()
	}
	switch {
	case err == nil:
		return sandbox.Running, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		pid, err := b.pid(id)
		if err != nil {
			return "", err
		}
		if pid == 0 { // it ended meanwhile
			return sandbox.Stopped, nil
		}
	}
	return sandbox.Sick, nil
}

// leftID is the Sandbox that a folder or snapshot of msb's was named after.
func (b *Backend) leftID(name string) (sandbox.ID, bool) {
	id, ok := strings.CutPrefix(name, b.prefix)
	return sandbox.ID(id), ok && checkID(sandbox.ID(id)) == nil
}
