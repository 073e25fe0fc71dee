package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	maxInFlight = 64
	readSize    = 64 << 10
)

// Errors of a Client.
var (
	// ErrClosed means that the connection is gone. Whether a command that was under way was done is not known.
	ErrClosed = errors.New("tmux: the control connection is closed")
	// ErrProtocol means that tmux said something that cannot be.
	ErrProtocol = errors.New("tmux: the control connection is out of step")
)

// CommandError is tmux's own complaint about a command. Commands after it in the same line were not run.
type CommandError struct {
	Command string // its name alone: arguments may be secret
	Text    string
}

func (e *CommandError) Error() string { return "tmux " + e.Command + ": " + e.Text }

// Reply holds a Block per command of the line.
type Reply struct{ Blocks []Block }

// Client sends commands to tmux and sorts what comes back. New builds it, Run works it.
type Client struct {
	rw     io.ReadWriteCloser
	handle func(Event)
	slots  chan struct{} // bounds the calls between Start and their answer
	queue  chan *Call    // as large as slots: sending to it never blocks a holder of a slot
	open   chan struct{} // closed when tmux has attached us: what it reads before that has no session
	done   chan struct{} // closed when Run has ended

	mu      sync.Mutex
	pending []*Call // written, in order, not yet answered
}

// Call is a command line on its way.
type Call struct {
	client *Client
	names  []string
	line   []byte
	reply  Reply
	err    error
	// then, when set, runs on the reader's goroutine at the answer's place in the stream.
	then func(Reply, error)
	done chan struct{}
}

// New makes a Client of a transport to `tmux -C attach`. handle gets every Event but the answers to own commands, in
// order, on Run's goroutine; it must be quick and must not wait for an answer.
func New(rw io.ReadWriteCloser, handle func(Event)) *Client {
	return &Client{
		rw: rw, handle: handle,
		slots: make(chan struct{}, maxInFlight), queue: make(chan *Call, maxInFlight),
		open: make(chan struct{}), done: make(chan struct{}),
	}
}

// Run reads until the transport ends or ctx does, and closes the transport. It may be called once. A cancelled ctx is no
// error.
func (c *Client) Run(ctx context.Context) error {
	running, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(running, func() { c.rw.Close() })
	defer stop()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		if c.write(running) != nil {
			cancel() // a dead writer ends the reader
		}
	}()
	err := c.read()
	if ctx.Err() != nil && !errors.Is(err, ErrProtocol) {
		err = nil
	}
	cancel()
	c.rw.Close()
	<-wrote
	close(c.done)
	c.mu.Lock()
	left := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, call := range left {
		call.finish(ErrClosed)
	}
	return err
}

// read parses the transport; it returns a reason, never nil.
func (c *Client) read() error {
	var parser Parser
	var exit *Exit
	var broken error
	opened := false
	emit := func(e Event) {
		switch e := e.(type) {
		case Block:
			if broken == nil && e.Flags&1 != 0 {
				broken = c.answer(e)
				return
			}
			if e.Failed && !opened {
				broken = fmt.Errorf("%w: attach: %s", ErrClosed, firstLine(e))
			}
			if !opened {
				opened = true
				close(c.open)
			}
		case Exit:
			exit = &e
		}
		if broken == nil {
			c.handle(e)
		}
	}
	buf := make([]byte, readSize)
	for {
		n, err := c.rw.Read(buf)
		if n > 0 {
			if perr := parser.Feed(buf[:n], emit); perr != nil {
				return errors.Join(ErrProtocol, perr)
			}
			if broken != nil {
				return broken
			}
			c.handle(Drained{})
		}
		if err == nil {
			continue
		}
		if exit != nil {
			return fmt.Errorf("%w: tmux said goodbye (%s)", ErrClosed, exit.Reason)
		}
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
}

// answer gives a block to the call that waits for it.
func (c *Client) answer(b Block) error {
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.mu.Unlock()
		return fmt.Errorf("%w: an answer to no command", ErrProtocol)
	}
	call := c.pending[0]
	call.reply.Blocks = append(call.reply.Blocks, b)
	got := len(call.reply.Blocks)
	if !b.Failed && got < len(call.names) {
		c.mu.Unlock()
		return nil
	}
	c.pending[0] = nil
	c.pending = c.pending[1:]
	c.mu.Unlock()
	var err error
	if b.Failed {
		err = &CommandError{Command: call.names[got-1], Text: firstLine(b)}
	}
	call.finish(err)
	return nil
}

func firstLine(b Block) string {
	if len(b.Lines) == 0 {
		return "failed"
	}
	const enough = 200
	return string(b.Lines[0][:min(len(b.Lines[0]), enough)])
}

func (call *Call) finish(err error) {
	call.err = err
	if call.then != nil {
		call.then(call.reply, err)
	}
	close(call.done)
	<-call.client.slots
}

// write sends queued lines, as many in one piece as there are.
func (c *Client) write(ctx context.Context) error {
	const piece = 64 << 10
	var buf []byte
	select {
	case <-ctx.Done():
		return nil
	case <-c.open:
	}
	for {
		var call *Call
		select {
		case <-ctx.Done():
			return nil
		case call = <-c.queue:
		}
		buf = buf[:0]
		for more := true; more; {
			c.mu.Lock()
			c.pending = append(c.pending, call)
			c.mu.Unlock()
			buf = append(buf, call.line...)
			call.line = nil
			if len(buf) >= piece {
				break
			}
			select {
			case call = <-c.queue:
			default:
				more = false
			}
		}
		if _, err := c.rw.Write(buf); err != nil {
			return err
		}
		if cap(buf) > 4*piece {
			buf = nil
		}
	}
}

// Start queues commands as one line. Lines are sent in the order in which Start returned.
func (c *Client) Start(ctx context.Context, cmds ...Command) (*Call, error) {
	return c.start(ctx, nil, cmds...)
}

func (c *Client) start(ctx context.Context, then func(Reply, error), cmds ...Command) (*Call, error) {
	line, err := commandLine(cmds)
	if err != nil {
		return nil, err
	}
	call := &Call{client: c, line: line, then: then, done: make(chan struct{}), names: make([]string, len(cmds))}
	for i, cmd := range cmds {
		call.names[i] = cmd[0]
	}
	select {
	case c.slots <- struct{}{}:
	case <-c.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.queue <- call
	return call, nil
}

// Wait waits for the answer. When ctx ends first, the commands are still run.
func (call *Call) Wait(ctx context.Context) (Reply, error) {
	select {
	case <-call.done:
		return call.reply, call.err
	default:
	}
	select {
	case <-call.done:
	case <-call.client.done:
		// Run answers what was written; what was still queued is answered by this.
		select {
		case <-call.done:
		default:
			return Reply{}, ErrClosed
		}
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
	return call.reply, call.err
}

// Do sends commands as one line, which tmux runs without a pause between them, and waits for the answers.
func (c *Client) Do(ctx context.Context, cmds ...Command) (Reply, error) {
	call, err := c.Start(ctx, cmds...)
	if err != nil {
		return Reply{}, err
	}
	return call.Wait(ctx)
}
