package tmux

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	settleTime = 100 * time.Millisecond
	// calmTime after a flood, scrollback is worth fetching again.
	calmTime = 500 * time.Millisecond
)

// plan is what the loop is to do next. Everything in it can be merged, so it never grows.
type plan struct {
	snapshot bool
	history  int

	cols, rows uint16 // when resized is not empty
	resized    []chan error

	hook     bool // make tmux tell us when the pane dies
	pause    bool // tell tmux to stop sending
	paused   bool // tmux has stopped sending
	resumeAt time.Time
	calmAt   time.Time // not zero: fetch scrollback then
}

func (p *plan) want(history int) {
	p.snapshot = true
	p.history = max(p.history, history)
}

// loop is the only one to ask for snapshots; one at a time, so that requests merge while one is under way.
func (t *Terminal) loop(ctx context.Context) error {
	if err := t.setUp(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var lastResize time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.wake:
		case <-timer.C:
		}
		now := time.Now()
		step, wait := t.take(now, lastResize)
		if len(step.resized) > 0 {
			lastResize = now
		}
		if err := t.perform(ctx, step); err != nil {
			return err
		}
		if wait > 0 {
			timer.Reset(wait)
		}
	}
}

// setUp finds the pane and asks tmux to bound what it holds for us.
func (t *Terminal) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := t.client.Do(ctx,
		Cmd("refresh-client", "-f", "ignore-size,"+pauseAfter),
		Cmd("display-message", "-p", "-t", target, "#{pane_id}\n#{client_name}"))
	if err != nil {
		return fmt.Errorf("set up control mode: %w", err)
	}
	lines := r.Blocks[len(r.Blocks)-1].Lines
	if len(lines) != 2 || len(lines[0]) < 2 || lines[0][0] != '%' {
		return fmt.Errorf("%w: no pane", ErrProtocol)
	}
	pane := string(lines[0])
	t.clientName = string(lines[1])
	t.pane.Store(&pane)
	close(t.ready)
	return nil
}

// take removes from the plan what can be done now and tells when to look again, 0 for "when woken".
func (t *Terminal) take(now, lastResize time.Time) (step plan, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.plan
	later := func(at time.Time) {
		if d := max(at.Sub(now), time.Millisecond); wait == 0 || d < wait {
			wait = d
		}
	}
	step.hook, p.hook = p.hook, false
	if len(p.resized) > 0 {
		if at := lastResize.Add(settleTime); now.Before(at) {
			later(at)
		} else {
			step.cols, step.rows, step.resized = p.cols, p.rows, p.resized
			p.resized = nil
		}
	}
	if p.pause {
		step.pause, p.pause, p.paused = true, false, true
		later(p.resumeAt)
		return step, wait
	}
	if !p.calmAt.IsZero() && !p.paused {
		if now.Before(p.calmAt) {
			later(p.calmAt)
		} else {
			p.calmAt = time.Time{}
			p.want(t.options.History)
		}
	}
	if p.paused {
		if now.Before(p.resumeAt) {
			later(p.resumeAt)
			return step, wait // a snapshot waits for the resumption
		}
		step.paused, step.snapshot, p.paused = true, true, false
	}
	if p.snapshot || len(step.resized) > 0 {
		step.snapshot = true
		step.history = p.history
		if len(step.resized) > 0 {
			step.history = max(step.history, t.options.History)
		}
		p.snapshot, p.history = false, 0
	}
	return step, wait
}

// perform sends a step as one command line and waits until it is done.
func (t *Terminal) perform(ctx context.Context, step plan) error {
	var cmds []Command
	pane := *t.pane.Load()
	if step.hook {
		// When a program ends, tmux closes the pane and drops what it had not sent yet, and says nothing to control clients.
		// So a dying pane pauses itself: that is said at once, and answered with a Snapshot, which has the last words.
		cmds = append(cmds, Cmd("set-hook", "-g", "pane-died", "refresh-client -t '"+t.clientName+"' -A '"+pane+":pause'"))
	}
	if len(step.resized) > 0 {
		cmds = append(cmds, Cmd("resize-window", "-t", target, "-x", size(step.cols), "-y", size(step.rows)))
	}
	if step.pause {
		cmds = append(cmds, Cmd("refresh-client", "-A", pane+":pause"))
	}
	if step.paused {
		cmds = append(cmds, Cmd("refresh-client", "-A", pane+":continue"))
	}
	var rendered error
	var then func(Reply, error)
	if step.snapshot {
		before := len(cmds)
		cmds = append(cmds, snapshotCommands(step.history)...)
		then = func(r Reply, err error) {
			if err == nil {
				rendered = t.screen.snapshot(Reply{r.Blocks[before:]}, step.history)
			}
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	call, err := t.client.start(ctx, then, cmds...)
	if err == nil {
		if _, err = call.Wait(ctx); err == nil {
			err = rendered
		}
	}
	for _, done := range step.resized {
		done <- err
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fetch the screen: %w", err)
	}
	return nil
}
