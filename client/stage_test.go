package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

func TestMain(m *testing.M) {
	code := m.Run()
	runnertest.CloseIdle()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("left running: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, what string, err error, code claudehub.Code) {
	t.Helper()
	if got := claudehub.CodeOf(err); got != code {
		t.Errorf("%s: %q (%v), want %s", what, got, err, code)
	}
}

// signedIn proves who asks by a browser's cookie.
type signedIn struct{ cookie *http.Cookie }

func (s signedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.AddCookie(s.cookie)
	return transport.RoundTrip(r)
}

var transport = &http.Transport{DisableKeepAlives: true}

// wire between client and Hub that can be cut.
type cable struct {
	l  net.Listener
	to string
	wg sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	down  bool
	calls int
}

func newCable(t testing.TB, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	c := &cable{l: l, to: to, open: map[net.Conn]bool{}}
	c.wg.Go(c.accept)
	t.Cleanup(func() { l.Close(); c.cut(true); c.wg.Wait() })
	return c
}

func (c *cable) url() string { return "http://" + c.l.Addr().String() }

func (c *cable) accept() {
	for {
		near, err := c.l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		c.mu.Lock()
		c.calls++
		if err != nil || c.down {
			c.mu.Unlock()
			near.Close()
			if far != nil {
				far.Close()
			}
			continue
		}
		c.open[near], c.open[far] = true, true
		c.mu.Unlock()
		c.wg.Go(func() { c.copy(near, far) })
		c.wg.Go(func() { c.copy(far, near) })
	}
}

func (c *cable) copy(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range []net.Conn{from, to} {
		conn.Close()
		delete(c.open, conn)
	}
}

// cut breaks every connection; down refuses new ones until it is up again.
func (c *cable) cut(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	for conn := range c.open {
		conn.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

func (c *cable) tries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// stage is a Hub where Ann's Runner is linked and shows an awake Session's terminal, and a client of hers.
type stage struct {
	*runnertest.Hub
	ctx    context.Context //nolint:containedctx // the test's own deadline
	ann    claudehub.Person
	runner *runnertest.Runner
	sess   claudehub.Session
	term   *runnertest.Terminal
	cable  *cable
	client *client.Client
	stop   func()
}

func newStage(t testing.TB) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s := &stage{Hub: runnertest.NewHub(t, nil), ctx: ctx}
	s.ann = s.Person("ann")
	s.runner = s.Runner(s.ann, "box")
	s.sess = s.Session(s.ann, s.runner)
	s.term = s.runner.NewTerminal(s.sess.ID)
	s.cable = newCable(t, strings.TrimPrefix(s.URL, "http://"))
	s.client = s.as(t, s.ann)
	s.serve(t)
	return s
}

func (s *stage) as(t testing.TB, p claudehub.Person) *client.Client {
	t.Helper()
	c, err := client.New(s.cable.url(), "", client.WithTransport(signedIn{s.SignIn(p).Cookie}))
	check(t, err)
	return c
}

func (s *stage) serve(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.term.Serve(ctx) })
	s.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(s.stop)
	for {
		l, err := s.Fleet.RunnerLink(s.ctx, s.runner.ID)
		check(t, err)
		if l.State == claudehub.LinkUp {
			break
		}
		select {
		case <-s.ctx.Done():
			t.Fatal("the Runner is not linked")
		case <-time.After(2 * time.Millisecond):
		}
	}
	s.observe(t, func(o *claudehub.Observed) {})
}

// observe reports the Session as awake, with a change.
func (s *stage) observe(t testing.TB, change func(*claudehub.Observed)) {
	t.Helper()
	now := time.Now()
	o := claudehub.Observed{Phase: claudehub.PhaseAwake, Activity: claudehub.Ready, Generation: s.sess.Generation, Since: now,
		SandboxLink: claudehub.Link{State: claudehub.LinkUp, Since: now}}
	change(&o)
	_, err := s.runner.Status(s.ctx, wire.Status{Sessions: []wire.ObservedSession{{ID: s.sess.ID, Observed: o}}})
	check(t, err)
}

// viewer is an open terminal and what it saw.
type viewer struct {
	*client.Terminal
	t   testing.TB
	ctx context.Context //nolint:containedctx // the test's own deadline
	end func() error

	mu      sync.Mutex
	shown   []byte
	snaps   int
	deltas  int
	notices []string
	seen    chan struct{}
	err     error
}

func (s *stage) view(t testing.TB, c *client.Client, o client.TerminalOptions) *viewer {
	t.Helper()
	v := &viewer{t: t, ctx: s.ctx, seen: make(chan struct{})}
	v.Terminal = c.Terminal(s.sess.ID, o, client.TerminalHandler{
		Frame: func(f client.Frame) {
			v.note(func() {
				if f.Kind == wire.FrameSnapshot {
					v.shown, v.snaps = append([]byte(nil), f.Data...), v.snaps+1
					return
				}
				v.shown, v.deltas = append(v.shown, f.Data...), v.deltas+1
			})
		},
		Changed: func(client.TerminalStatus) { v.note(func() {}) },
		Notice:  func(text string) { v.note(func() { v.notices = append(v.notices, text) }) },
	})
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := v.Run(ctx)
		v.note(func() { v.err = err })
	}()
	v.end = func() error {
		cancel()
		<-done
		return v.err
	}
	t.Cleanup(func() { _ = v.end() })
	return v
}

func (v *viewer) note(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	close(v.seen)
	v.seen = make(chan struct{})
}

// until waits until ok holds.
func (v *viewer) until(what string, ok func() bool) {
	v.t.Helper()
	for {
		v.mu.Lock()
		good, seen, err := ok(), v.seen, v.err
		v.mu.Unlock()
		if good {
			return
		}
		if err != nil {
			v.t.Fatalf("%s: the terminal ended: %v", what, err)
		}
		select {
		case <-seen:
		case <-v.ctx.Done():
			v.t.Fatalf("%s: shown %.200q, %d snapshots, status %+v, notices %q", what, v.shown, v.snaps, v.Status(), v.notices)
		}
	}
}

func (v *viewer) typing() { v.t.Helper(); v.until("typing", func() bool { return v.Status().Typing }) }

func (v *viewer) shows(text string) {
	v.t.Helper()
	v.until("shows "+text, func() bool { return strings.HasSuffix(string(v.shown), text) })
}
