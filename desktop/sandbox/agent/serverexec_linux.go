package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/process"
)

// maxInput is what a command may leave unread before its connection is no longer read.
const maxInput = 1 << 20

// hangUpCheck is how often a connection that is not read is asked whether its client is still there.
const hangUpCheck = 100 * time.Millisecond

// exec is one command that a client started.
type exec struct {
	client *client
	id     uint32
	child  *process.Child
	tty    *os.File // our end of its terminal, or nil

	mu     sync.Mutex
	queue  [][]byte
	queued int
	closed bool          // no more input comes
	dead   bool          // nobody reads the input
	more   chan struct{} // holds a token when the queue changed; read by feed
	room   chan struct{} // likewise, when it shrank; read by input
}

// start answers an exec request: with started and a running command, or with failed.
func (c *client) start(f frame) error {
	var r request
	if err := f.decode(&r); err != nil {
		return c.fail(f.id, stageRequest, err)
	}
	if _, taken := c.execs[f.id]; taken || r.Cmd == "" || r.User != nil {
		return c.fail(f.id, stageRequest, syscall.EINVAL)
	}
	e := &exec{client: c, id: f.id, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	spawn, stage, err := c.server.spawn(r)
	if err != nil {
		return c.fail(f.id, stage, err)
	}
	var s streams
	if r.TTY {
		s, err = terminalStreams(r.Cols, r.Rows)
		e.tty, spawn.Terminal = s.in, true
	} else {
		s, err = pipeStreams()
	}
	if err != nil {
		return c.fail(f.id, stageTerminal, err)
	}
	spawn.Files = s.theirs
	child, err := c.server.Reaper.Start(spawn)
	s.closeTheirs()
	if err != nil {
		s.closeOurs()
		return c.fail(f.id, stageSpawn, err)
	}
	e.child = child
	c.execs[f.id] = e
	if err := c.send(f.id, 0, typeStarted, started{Pid: child.Pid()}); err != nil {
		c.ended.Go(func() { e.follow(s) }) // serve kills it
		return err
	}
	c.ended.Go(func() { e.feed(s.in) })
	c.ended.Go(func() { e.follow(s) })
	return nil
}

func (c *client) fail(id uint32, stage string, err error) error {
	why := failed{Kind: "other", Message: err.Error(), Stage: stage}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		n := int(errno)
		why.Errno, why.ErrnoName = &n, unix.ErrnoName(errno)
	}
	if errors.Is(err, os.ErrNotExist) {
		why.Kind = "not_found"
	}
	return c.send(id, flagTerminal, typeFailed, why)
}

// kill ends the command's group, and whoever waits to give it input.
func (e *exec) kill() {
	_ = e.client.server.Reaper.Signal(e.child, syscall.SIGKILL) // it may have ended
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = true
	wake(e.more)
	wake(e.room)
}

func (e *exec) resize(cols, rows uint16) {
	if e.tty != nil && cols > 0 && rows > 0 {
		_ = setSize(e.tty, cols, rows) // a terminal that is closed has no size
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// input queues what the client sent. With a full queue it waits, and the connection is not read, until the command
// reads, ends, or the client hangs up.
func (e *exec) input(ctx context.Context, b []byte) error {
	tick := time.NewTicker(hangUpCheck)
	defer tick.Stop()
	for {
		e.mu.Lock()
		if e.queued < maxInput || e.dead || e.closed {
			break
		}
		e.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.room:
		case <-tick.C:
			if e.client.hungUp() {
				return io.EOF
			}
		}
	}
	defer e.mu.Unlock()
	switch {
	case e.dead || e.closed:
		return nil
	case len(b) == 0:
		e.closed = e.tty == nil // a terminal's input has no end
	default:
		if last := len(e.queue) - 1; last >= 0 && len(e.queue[last])+len(b) <= smallChunk {
			e.queue[last] = append(e.queue[last], b...)
		} else {
			e.queue = append(e.queue, b)
		}
		e.queued += len(b)
	}
	wake(e.more)
	return nil
}

// take gives feed what is queued. It returns false at the end of the input.
func (e *exec) take() ([][]byte, bool) {
	for {
		e.mu.Lock()
		if e.dead {
			e.mu.Unlock()
			return nil, false
		}
		if len(e.queue) > 0 {
			q := e.queue
			e.queue = nil
			e.mu.Unlock()
			return q, true
		}
		closed := e.closed
		e.mu.Unlock()
		if closed {
			return nil, false
		}
		<-e.more
	}
}

// feed writes the input to the command. It ends with the input or with the command: closing the file ends a write.
func (e *exec) feed(in *os.File) {
	for {
		queue, ok := e.take()
		if !ok {
			break
		}
		for _, b := range queue {
			if _, err := in.Write(b); err != nil {
				e.inputFailed()
				return
			}
			e.mu.Lock()
			e.queued -= len(b)
			e.mu.Unlock()
			wake(e.room)
		}
	}
	if e.tty == nil {
		in.Close()
	}
}

// inputFailed drops what is left of the input. The command may well go on without.
func (e *exec) inputFailed() {
	e.mu.Lock()
	running := !e.dead
	e.dead, e.queue = true, nil
	wake(e.room)
	e.mu.Unlock()
	if running {
		_ = e.client.send(e.id, 0, typeStdinError, wrong{Kind: "closed", Message: "the command does not read"}) // the reader notices a broken connection
	}
}

// follow forwards the output, and then the exit code.
func (e *exec) follow(s streams) {
	outputs := map[string]*process.Output{typeStdout: process.NewOutput(s.out)}
	if s.err != nil {
		outputs[typeStderr] = process.NewOutput(s.err)
	}
	var pumps sync.WaitGroup
	for kind, out := range outputs {
		pumps.Go(func() { e.pump(out, kind) })
	}
	code := <-e.child.Exited()
	for _, out := range outputs {
		out.Ended()
	}
	pumps.Wait()
	e.mu.Lock()
	e.dead = true
	wake(e.more)
	wake(e.room)
	e.mu.Unlock()
	s.closeOurs()
	_ = e.client.send(e.id, flagTerminal, typeExited, exited{Code: code}) // the reader notices a broken connection
}

// pump forwards one output. When the client does not read, the write waits, and so in the end does the command.
func (e *exec) pump(out *process.Output, kind string) {
	buf := make([]byte, chunk)
	for {
		n, err := out.Read(buf)
		if n > 0 && e.client.send(e.id, 0, kind, data{Data: buf[:n]}) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}
