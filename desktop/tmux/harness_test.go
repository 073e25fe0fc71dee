package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/tmux"
)

const patience = 20 * time.Second

// server is a real tmux server with one pane.
type server struct {
	t      testing.TB
	socket string
}

func startServer(t testing.TB, cols, rows uint16, argv ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "tm") // t.TempDir is too long for a socket's path in some tests
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, socket: filepath.Join(dir, "s")}
	path, args := tmux.StartCommand(tmux.Start{Socket: s.socket, Cols: cols, Rows: rows, Argv: argv})
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("start tmux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() // it may be gone already
		os.RemoveAll(dir)
	})
	return s
}

// tmux runs a plain tmux command beside the control client.
func (s *server) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// pipe is the transport: a control client's stdin and stdout. chunk, when not 0, bounds each Read.
type pipe struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	chunk int
	once  sync.Once
}

func (s *server) attach(chunk int) *pipe {
	s.t.Helper()
	path, args := tmux.AttachCommand(s.socket)
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &pipe{cmd: cmd, in: in, out: out, chunk: chunk}
	s.t.Cleanup(func() { p.Close() })
	return p
}

func (p *pipe) Read(b []byte) (int, error) {
	if p.chunk > 0 && len(b) > p.chunk {
		b = b[:p.chunk]
	}
	return p.out.Read(b)
}

func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close kills the client: a cut, not a goodbye.
func (p *pipe) Close() error {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		p.in.Close()
		_ = p.cmd.Wait() // killed
	})
	return nil
}

// screenLog keeps the frames of a Terminal.
type screenLog struct {
	mu     sync.Mutex
	frames []tmux.Frame
	more   chan struct{}
}

func newLog() *screenLog { return &screenLog{more: make(chan struct{}, 1)} }

func (l *screenLog) sink(f tmux.Frame) {
	l.mu.Lock()
	l.frames = append(l.frames, f)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *screenLog) all() []tmux.Frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]tmux.Frame(nil), l.frames...)
}

func (l *screenLog) deltas() string {
	var b strings.Builder
	for _, f := range l.all() {
		if f.Kind == tmux.Delta {
			b.Write(f.Data)
		}
	}
	return b.String()
}

// screen is what a viewer was sent that begins with the last snapshot.
func (l *screenLog) screen() []byte {
	var data []byte
	for _, f := range l.all() {
		if f.Kind == tmux.Snapshot {
			data = nil
		}
		data = append(data, f.Data...)
	}
	return data
}

func (l *screenLog) snapshots() int {
	n := 0
	for _, f := range l.all() {
		if f.Kind == tmux.Snapshot {
			n++
		}
	}
	return n
}

// until waits until done says so, looking after each frame.
func (l *screenLog) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("never seen: %s; deltas end with %q", what, tail(l.deltas(), 300))
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// eventually polls what no frame announces.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // polling
	}
}

// terminal is a running Terminal.
type terminal struct {
	*tmux.Terminal
	log  *screenLog
	stop func() error
}

func (s *server) terminal(p *pipe, options tmux.Options) *terminal {
	s.t.Helper()
	log := newLog()
	term := tmux.NewTerminal(p, log.sink, options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	var once sync.Once
	var result error
	stop := func() error {
		once.Do(func() {
			cancel()
			select {
			case result = <-ended:
			case <-time.After(patience):
				result = errors.New("Run does not end")
			}
		})
		return result
	}
	s.t.Cleanup(func() {
		if err := stop(); err != nil {
			s.t.Logf("Run: %v", err)
		}
	})
	log.until(s.t, "first snapshot", func() bool { return log.snapshots() > 0 })
	return &terminal{Terminal: term, log: log, stop: stop}
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shell is a pane that runs a script.
func shell(format string, args ...any) []string {
	return []string{"sh", "-c", fmt.Sprintf(format, args...)}
}
