package runner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/internal/claudehub"
)

// Bounds of a forwarded port: connections at once, silence on one of them, and the time to reach the Sandbox's end.
const (
	maxForwarded = 64
	forwardIdle  = 2 * time.Hour
	forwardDial  = 10 * time.Second
	copyBuffer   = 32 << 10
)

// forward makes one port of a Sandbox reachable on the machine's loopback, for the Runner's own user. New listens, Run
// serves until its context ends, with every connection.
type forward struct {
	want claudehub.Forward
	ln   *net.TCPListener
	dial func(ctx context.Context, port uint16) (net.Conn, error)
	own  func(remote, local netip.AddrPort) bool
	idle time.Duration
	log  *slog.Logger
}

// newForward listens. Why it cannot is said in words.
func newForward(ctx context.Context, want claudehub.Forward, dial func(context.Context, uint16) (net.Conn, error), log *slog.Logger) (*forward, error) {
	if want.Port < 1 || want.Port > 65535 {
		return nil, claudehub.Errorf(claudehub.Invalid, "%d is not a port.", want.Port)
	}
	port := 0
	if want.Same {
		port = want.Port
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, claudehub.WithCause(claudehub.Conflict, err, "Port %d of this machine is taken by another program. End that, or forward to any free port.", port)
	case errors.Is(err, os.ErrPermission):
		return nil, claudehub.WithCause(claudehub.Forbidden, err, "This machine keeps port %d for its administrator. Forward to any free port.", port)
	case err != nil:
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "Port %d cannot be opened on this machine.", port)
	}
	return &forward{want: want, ln: ln.(*net.TCPListener), dial: dial, own: peerIsOwn, idle: forwardIdle, log: log}, nil
}

// local is where it is reachable.
func (f *forward) local() string { return f.ln.Addr().String() }

// Run serves until ctx ends.
func (f *forward) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { f.ln.Close() })
	defer stop()
	defer f.ln.Close()
	var g errgroup.Group
	g.SetLimit(maxForwarded)
	for {
		c, err := f.ln.AcceptTCP()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				newSignal().wait(ctx, time.Second) // out of files, say
				continue
			}
			break
		}
		if !f.own(addrOf(c.RemoteAddr()), addrOf(c.LocalAddr())) {
			f.log.Warn("a connection of another user of this machine was refused", "port", f.want.Port)
			c.Close()
			continue
		}
		if !g.TryGo(func() error { f.serve(ctx, c); return nil }) {
			c.Close()
		}
	}
	_ = g.Wait() // none fails
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort()
	}
	return netip.AddrPort{}
}

// serve copies between a connection and the Sandbox until both sides have ended, or neither said anything for long.
func (f *forward) serve(ctx context.Context, c *net.TCPConn) {
	defer c.Close()
	ask, cancel := context.WithTimeout(ctx, forwardDial)
	far, err := f.dial(ask, uint16(f.want.Port))
	cancel()
	if err != nil {
		f.log.Debug("not forwarded", "port", f.want.Port, "error", err)
		_ = c.SetLinger(0) // a reset says that nobody listens; an end would be an empty answer
		return
	}
	defer far.Close()
	idle := time.AfterFunc(f.idle, func() { c.Close(); far.Close() })
	defer idle.Stop()
	end := context.AfterFunc(ctx, func() { c.Close(); far.Close() })
	defer end()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, far}, {far, c}} {
		both.Go(func() {
			_, err := io.CopyBuffer(alive{way[0], idle, f.idle}, onlyReader{way[1]}, make([]byte, copyBuffer))
			if half, ok := way[0].(interface{ CloseWrite() error }); ok && err == nil {
				_ = half.CloseWrite() // the other way goes on
				return
			}
			c.Close()
			far.Close()
		})
	}
	both.Wait()
}

// alive is a writer that puts off a connection's end for silence.
type alive struct {
	io.Writer
	timer *time.Timer
	after time.Duration
}

func (a alive) Write(b []byte) (int, error) {
	a.timer.Reset(a.after)
	return a.Writer.Write(b)
}

// onlyReader hides what else a connection can do: its own way of copying would see no silence.
type onlyReader struct{ io.Reader }

// forwards are those of one Session that are open.
type forwards struct {
	s    *session
	open map[int]openForward
}

type openForward struct {
	*forward
	end  context.CancelFunc
	gone chan struct{}
	err  string
}

// keep opens what is wanted and not open, and ends what is open and not wanted. One that could not be opened is tried
// again each time.
func (o *forwards) keep(ctx context.Context, want []claudehub.Forward) {
	wanted := map[int]claudehub.Forward{}
	for _, f := range want[:min(len(want), claudehub.MaxForwards)] {
		wanted[f.Port] = f
	}
	for port, f := range o.open {
		if w, ok := wanted[port]; !ok || f.forward == nil || w != f.want {
			f.close()
			delete(o.open, port)
		}
	}
	for port, w := range wanted {
		if _, ok := o.open[port]; ok {
			continue
		}
		f, err := newForward(ctx, w, func(ctx context.Context, port uint16) (net.Conn, error) {
			return o.s.on.cfg.Backend.Dial(ctx, o.s.box(), port)
		}, o.s.log)
		if err != nil {
			o.open[port] = openForward{err: claudehub.MessageOf(err)}
			continue
		}
		run, end := context.WithCancel(ctx)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			f.Run(run)
		}()
		o.open[port] = openForward{forward: f, end: end, gone: gone}
	}
}

func (f openForward) close() {
	if f.forward != nil {
		f.end()
		<-f.gone
	}
}

func (o *forwards) closeAll() {
	for port, f := range o.open {
		f.close()
		delete(o.open, port)
	}
}

// describe adds to what listens what is forwarded.
func (o *forwards) describe(listens []claudehub.Port) []claudehub.Port {
	all := append([]claudehub.Port{}, listens...)
	for port, f := range o.open {
		i := 0
		for i < len(all) && all[i].Port < port {
			i++
		}
		if i == len(all) || all[i].Port != port {
			all = append(all[:i], append([]claudehub.Port{{Port: port}}, all[i:]...)...)
		}
		if all[i].Error = f.err; f.forward != nil {
			all[i].Local = f.local()
		}
	}
	return all
}
