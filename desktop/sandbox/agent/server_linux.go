package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/process"
)

const (
	maxConns = 128
	idFirst  = 1
	idEnd    = 1<<25 - 1
)

// Server runs commands for whoever holds its listener's other end. It is made for PID 1 of a Sandbox.
type Server struct {
	// Reaper starts the commands; it must be running.
	Reaper *process.Reaper
	// Env is under each command's own environment.
	Env []string
	// Dir is where a command starts that asks for no place.
	Dir string
	// Version is what the server calls itself.
	Version string
	// End ends every other process of the Sandbox and returns when they have; it is how a shutdown begins. Nil is for
	// PID 1 of a Sandbox.
	End func(ctx context.Context)
}

// Serve answers connections until ctx ends, or until a client asked for a shutdown and no process is left. It returns
// once its connections are closed and their commands killed.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	shutdown := make(chan func(), 1)
	go s.endWhenAsked(ctx, cancel, shutdown)
	slots := make(chan struct{}, maxConns)
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return nil // the listener was closed to end us
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			time.Sleep(10 * time.Millisecond) // out of descriptors for now; PID 1 must not end of that
			continue
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		conns.Go(func() {
			defer func() { <-slots }()
			s.client(conn, shutdown, nil).serve(ctx)
		})
	}
}

func (s *Server) client(conn net.Conn, shutdown chan<- func(), used func()) *client {
	return &client{server: s, conn: conn, execs: map[uint32]*exec{}, streams: map[uint32]*stream{}, shutdown: shutdown, used: used}
}

// The pauses between two calls that nobody answered: short at first, since a Runner that was just started waits for us.
const (
	callAgain     = 20 * time.Millisecond
	callAgainMost = 500 * time.Millisecond
)

// Call is Serve where the Sandbox is the one to connect: spare connections always wait to be used, and whenever one is,
// or is lost, another takes its place.
func (s *Server) Call(ctx context.Context, dial func(context.Context) (net.Conn, error), spare int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var conns sync.WaitGroup
	defer conns.Wait()
	shutdown := make(chan func(), 1)
	go s.endWhenAsked(ctx, cancel, shutdown)
	slots := make(chan struct{}, maxConns)
	waiting := make(chan struct{}, spare)
	pause := callAgain
	for {
		for _, c := range []chan struct{}{waiting, slots} {
			select {
			case <-ctx.Done():
				return nil
			case c <- struct{}{}:
			}
		}
		conn, err := dial(ctx)
		if err != nil {
			<-waiting
			<-slots
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
				pause = min(2*pause, callAgainMost)
			}
			continue
		}
		pause = callAgain
		conns.Go(func() {
			defer func() { <-slots }()
			used := sync.OnceFunc(func() { <-waiting })
			defer used()
			s.client(conn, shutdown, used).serve(ctx)
		})
	}
}

// endWhenAsked tells every process of the Sandbox to end. When none is left, it says so to who asked, and ends the server.
func (s *Server) endWhenAsked(ctx context.Context, cancel func(), asked <-chan func()) {
	var say func()
	select {
	case <-ctx.Done():
		return
	case say = <-asked:
	}
	switch {
	case s.End != nil:
		s.End(ctx)
	case os.Getpid() == 1:
		endAll(ctx)
	default: // not in a Sandbox: -1 would mean everyone on this machine
		cancel()
		return
	}
	if ctx.Err() == nil {
		say()
	}
	cancel()
}

// endAll is how PID 1 ends every other process.
func endAll(ctx context.Context) {
	// A hang-up too, since an interactive shell does not end of SIGTERM; and on, for whatever was stopped.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGCONT} {
		_ = syscall.Kill(-1, sig)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !errors.Is(syscall.Kill(-1, 0), syscall.ESRCH) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// client is one connection as the server sees it.
type client struct {
	server   *Server
	conn     net.Conn
	shutdown chan<- func() // takes how to say that all have ended

	writing sync.Mutex // held over a write to conn, and nothing else

	used    func()             // called once the client has said something; nil where nobody asks
	execs   map[uint32]*exec   // touched by serve alone
	streams map[uint32]*stream // likewise
	ended   sync.WaitGroup
}

// serve reads frames until the client hangs up, and then kills what it started.
func (c *client) serve(ctx context.Context) {
	defer c.ended.Wait()
	defer c.conn.Close()
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	defer func() {
		for _, e := range c.execs {
			e.kill()
		}
		for _, t := range c.streams {
			_ = t.conn.Close()
		}
	}()
	hello := binary.BigEndian.AppendUint32(nil, idFirst)
	hello = binary.BigEndian.AppendUint32(hello, idEnd)
	hello, err := appendFrame(hello, 0, 0, typeReady, ready{AgentVersion: c.server.Version})
	if err != nil || c.write(hello) != nil {
		return
	}
	frames := &frameReader{r: bufio.NewReaderSize(c.conn, chunk)}
	for {
		f, err := frames.next()
		if err != nil {
			return // a client that sends garbage is not answered: framing is lost
		}
		if c.used != nil {
			c.used()
		}
		if err := c.handle(ctx, f); err != nil {
			return
		}
	}
}

// handle acts on one frame. An error ends the connection; a bad message alone does not.
func (c *client) handle(ctx context.Context, f frame) error {
	switch f.kind {
	case typePing:
		return c.send(f.id, flagTerminal, typePong, nothing{})
	case typeShutdown:
		select {
		case c.shutdown <- func() { c.sayEnded(f.id) }:
		default: // asked already
		}
		return nil
	case typeRequest:
		return c.start(f)
	case typeConnect:
		return c.connect(ctx, f)
	case typeUsage:
		return c.send(f.id, flagTerminal, typeUsage, usage())
	}
	if t, ok := c.streams[f.id]; ok {
		return c.relay(f, t)
	}
	e, ok := c.execs[f.id]
	if !ok {
		return nil
	}
	var err error
	switch f.kind {
	case typeStdin:
		var d data
		if err = f.decode(&d); err == nil {
			return e.input(ctx, d.Data)
		}
	case typeResize:
		var r resize
		if err = f.decode(&r); err == nil {
			e.resize(r.Cols, r.Rows)
		}
	case typeSignal:
		var s signalled
		if err = f.decode(&s); err == nil && s.Signal > 0 {
			_ = c.server.Reaper.Signal(e.child, syscall.Signal(s.Signal)) // it may have ended meanwhile
		}
	}
	if err != nil {
		return c.send(f.id, 0, typeError, wrong{Kind: "invalid_payload", Message: err.Error()})
	}
	return nil
}

// sayEnded answers a shutdown. The server ends next, so a client that does not read is not waited for.
func (c *client) sayEnded(id uint32) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = c.send(id, flagTerminal, typeShutdown, nothing{}) // it may have gone
}

func (c *client) send(id uint32, flags uint8, kind string, payload any) error {
	b, err := appendFrame(nil, id, flags, kind, payload)
	if err != nil {
		return err
	}
	return c.write(b)
}

func (c *client) write(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.conn.Write(b)
	return err
}

// hungUp tells whether the client is gone, without reading what it sent before.
func (c *client) hungUp() bool {
	if h, ok := c.conn.(interface{ HungUp() bool }); ok {
		return h.HungUp()
	}
	sc, ok := c.conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}
