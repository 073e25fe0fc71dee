//go:build linux

package bubblewrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
)

// launch is one try to start a Sandbox: what it began, so that it can be undone.
type launch struct {
	b    *Backend
	spec sandbox.Spec
	box  box
	tree tree

	monitor *process.Detached
	init    identity
	cgroups []string
}

func (l *launch) run(ctx context.Context) error {
	if err := l.found(ctx); err != nil {
		return err
	}
	going, err := l.spawn(ctx)
	if err != nil {
		return err
	}
	defer going.Close()
	if err := l.note(); err != nil {
		return err
	}
	if err := enter(l.cgroups, l.init.Pid); err != nil {
		return err
	}
	if _, err := going.Write([]byte{1}); err != nil {
		return fmt.Errorf("let the agent begin: %w", err)
	}
	return l.greet(ctx)
}

// spawn starts bwrap and learns the number of the Sandbox's PID 1, which waits for a byte in the file returned.
func (l *launch) spawn(ctx context.Context) (going *os.File, err error) {
	var open []io.Closer // our copies of what the child gets
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	v, err := l.b.version(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := l.listen()
	if err != nil {
		return nil, err
	}
	open = append(open, listener)
	info, infoIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer info.Close()
	open = append(open, infoIn)
	files := []*os.File{listener, infoIn}
	guestArgs, err := l.limit()
	if err != nil {
		return nil, err
	}
	p, err := newPlan(v, l.spec, l.tree, l.b.guest, guestArgs...)
	if err != nil {
		return nil, err
	}
	given, err := p.inputs()
	for _, f := range given {
		open = append(open, f)
	}
	if err != nil {
		return nil, err
	}
	files = append(files, given...)
	var mapped *os.File
	if p.many {
		var block *os.File
		if block, mapped, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer mapped.Close()
		open = append(open, block)
		files = append(files, block)
	}
	// Its own end of the pipe keeps bwrap from dying of a broken one, were we to end now: its child would wait for it
	// for ever.
	files = append(files, info)
	log, err := os.OpenFile(l.box.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	open = append(open, log)
	wait, going, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	open = append(open, wait)
	l.monitor, err = process.Detach(process.Command{
		Path: l.b.program(), Args: p.args, Env: []string{}, Dir: "/", Files: files,
	}, wait, log)
	if err != nil {
		going.Close()
		return nil, err
	}
	infoIn.Close() // so that the read below ends when bwrap does
	if err := l.learn(ctx, info); err != nil {
		going.Close()
		return nil, err
	}
	if p.many {
		if err := mapUsers(l.init.Pid, mapped); err != nil {
			going.Close()
			return nil, err
		}
	}
	return going, nil
}

// listen makes the agent's socket. The Sandbox gets the open socket, and never a path that leads to it.
func (l *launch) listen() (*os.File, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.box.socket(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	defer ln.Close()
	ln.SetUnlinkOnClose(false)
	if err := os.Chmod(l.box.socket(), 0o600); err != nil {
		return nil, fmt.Errorf("close agent socket to others: %w", err)
	}
	f, err := ln.File()
	if err != nil {
		return nil, fmt.Errorf("pass agent socket: %w", err)
	}
	return f, nil
}

// inputs are the filter and the files of our own making, each in a pipe of which bwrap reads the other end.
func (p *plan) inputs() (files []*os.File, err error) {
	program, err := filter(p.build, p.single)
	if err != nil {
		return nil, err
	}
	contents := [][]byte{program}
	for _, f := range p.files {
		contents = append(contents, []byte(f.text))
	}
	for _, c := range contents {
		if len(c) > maxInput {
			return files, fmt.Errorf("pass file: it has %d bytes", len(c))
		}
		r, w, err := os.Pipe()
		if err != nil {
			return files, err
		}
		files = append(files, r)
		_, err = w.Write(c) // a pipe takes that much at once
		w.Close()
		if err != nil {
			return files, fmt.Errorf("pass file: %w", err)
		}
	}
	return files, nil
}

// maxInput is what a pipe holds on every machine.
const maxInput = 64 << 10

// limit prepares the cgroups, and tells the guest what it has to enforce in their place.
func (l *launch) limit() ([]string, error) {
	at := findBounds()
	var err error
	if l.cgroups, err = at.enclose(l.b.state, l.spec.ID, l.spec.Limits); err != nil {
		return nil, err
	}
	if l.spec.Limits.MemoryBytes > 0 && at.memory == "" {
		l.b.log.Warn("no memory limit is in force on this Sandbox; the doctor says why", "sandbox", l.spec.ID)
	}
	if l.spec.Limits.CPUs > 0 && at.cpu == "" {
		l.b.log.Warn("no limit of CPUs is in force on this Sandbox; the doctor says why", "sandbox", l.spec.ID)
	}
	if n := l.spec.Limits.Processes; n > 0 && at.processes == "" {
		if rlimitCounts() {
			return []string{"-processes", strconv.Itoa(n)}, nil
		}
		l.b.log.Warn("no limit of processes is in force on this Sandbox; the doctor says why", "sandbox", l.spec.ID)
	}
	return nil, nil
}

// learn reads the number of the Sandbox's PID 1 from bwrap.
func (l *launch) learn(ctx context.Context, info *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = info.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var told struct {
		Pid int `json:"child-pid"`
	}
	if err := json.NewDecoder(io.LimitReader(info, 4<<10)).Decode(&told); err != nil {
		return fmt.Errorf("learn the sandbox's process: %w", err)
	}
	var err error
	if l.init, err = identify(told.Pid); err != nil {
		return fmt.Errorf("learn the sandbox's process: %w", err)
	}
	return nil
}

// note writes down how to find this Sandbox again.
func (l *launch) note() error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	monitor, err := identify(l.monitor.Pid())
	if err != nil {
		return err
	}
	return l.box.save(record{
		Version: recordVersion, Boot: boot, Init: l.init, Monitor: monitor, Started: time.Now().UTC(), Cgroups: l.cgroups,
		Memory: l.spec.Limits.MemoryBytes,
	})
}

// greet waits until the agent answers, or bwrap has given up.
func (l *launch) greet(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-l.monitor.Done():
			cancel(fmt.Errorf("bwrap ended with code %d", l.monitor.Code()))
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(nil); <-watched }()
	conn, err := agent.Dial(ctx, l.box.socket())
	if err != nil {
		select {
		case <-l.monitor.Done(): // whichever was seen first
			return fmt.Errorf("bwrap ended with code %d: %w", l.monitor.Code(), err)
		default:
			return err
		}
	}
	return conn.Close()
}

// undo ends what run began.
func (l *launch) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	var errs []error
	if l.monitor != nil {
		errs = append(errs, l.end(ctx))
	}
	errs = append(errs, l.box.forget(), release(l.cgroups))
	if err := errors.Join(errs...); err != nil {
		l.b.log.Error("a half-started Sandbox left something behind", "sandbox", l.spec.ID, "error", err)
	}
}

// end ends the processes. An agent that was not let begin ends by itself, and bwrap after it; that is the better way,
// since bwrap's child does not notice when bwrap is killed.
func (l *launch) end(ctx context.Context) error {
	if err := kill(ctx, l.init); err != nil {
		return err
	}
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-l.monitor.Done():
		return nil
	case <-patience.C:
	}
	id, err := identify(l.monitor.Pid())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := killTree(ctx, id); err != nil {
		return err
	}
	select {
	case <-l.monitor.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
