package tmux_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/tmux"
)

// meter is a sink that keeps the current screen alone.
type meter struct {
	mu        sync.Mutex
	bytes     int64
	snapshots int
	screen    []byte // from the last snapshot on, while it is short
	seen      chan struct{}
	want      []byte
}

func (m *meter) sink(f tmux.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += int64(len(f.Data))
	if f.Kind == tmux.Snapshot {
		m.snapshots++
		m.screen = nil
	}
	if len(m.screen) > 1<<20 {
		m.screen = m.screen[len(m.screen)-1<<10:]
	}
	m.screen = append(m.screen, f.Data...)
	if m.seen != nil && bytes.Contains(m.screen[max(0, len(m.screen)-len(f.Data)-100):], m.want) {
		close(m.seen)
		m.seen = nil
	}
}

func (m *meter) expect(want string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.want, m.seen = []byte(want), make(chan struct{})
	return m.seen
}

// TestT4Flood: a program that never stops printing costs little, and stops at once.
func TestT4Flood(t *testing.T) {
	flood := 3 * time.Second
	if d, err := time.ParseDuration(os.Getenv("TMUX_TEST_FLOOD")); err == nil {
		flood = d
	}
	s := startServer(t, 80, 24, shell(`trap : INT; yes 'the quick brown fox'; echo STOPPED; cat`)...)
	m := &meter{}
	term := tmux.NewTerminal(s.attach(0), m.sink, tmux.Options{History: 200})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	var peak uint64
	var mem runtime.MemStats
	for end := time.Now().Add(flood); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // the flood's length, not a wait
		runtime.ReadMemStats(&mem)
		peak = max(peak, mem.HeapInuse)
	}
	m.mu.Lock()
	passed, snapshots := m.bytes, m.snapshots
	m.mu.Unlock()
	stopped := m.expect("STOPPED")
	began := time.Now()
	must(t, term.Keys(soon(t), "t", 1, []byte{3}))
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("Ctrl-C does not act")
	}
	took := time.Since(began)
	t.Logf("%v of yes: %.1f MB in %d snapshots and deltas, heap at most %.1f MB, Ctrl-C took %v, tmux %s",
		flood, float64(passed)/1e6, snapshots, float64(peak)/1e6, took, strings.TrimSpace(rss(s)))
	if took > time.Second {
		t.Errorf("Ctrl-C took %v", took)
	}
	if peak > 64<<20 {
		t.Errorf("heap of %d MB", peak>>20)
	}
	if limit := int64(2<<20 + (flood.Seconds()+1)*(1<<20)); passed > limit {
		t.Errorf("%d bytes passed on, more than %d", passed, limit)
	}
	// And the keyboard works as before.
	echoed := m.expect("after the flood")
	must(t, term.Keys(soon(t), "t", 2, []byte("after the flood")))
	select {
	case <-echoed:
	case <-time.After(patience):
		t.Fatal("no echo after the flood")
	}
	cancel()
	must(t, <-ended)
}

func rss(s *server) string {
	pid := strings.TrimSpace(s.tmux("display-message", "-p", "#{pid}"))
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return "memory unknown"
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			return line
		}
	}
	return "memory unknown"
}

// TestT6CutMidStream: the connection is cut again and again while the program draws; each new one shows the pane.
func TestT6CutMidStream(t *testing.T) {
	const cols, rows = 60, 15
	// A full screen program with a status line, a spinner and text that scrolls.
	s := startServer(t, cols, rows, shell(`stty -echo; printf '\033[?1049h\033[2;%dr'; i=0; while [ $i -lt 4000 ]; do
		printf '\033[s\033[1;1H\033[7mstatus %%d 한글 🙂\033[m\033[u\033[%d;1H\033[3%%dmline %%d é\033[m\n' $i $((i%%7+1)) $i; i=$((i+1)); done
		printf '\033]2;drawn\007'; cat`, rows, rows)...)
	for range 5 {
		p := s.attach(7)
		log := newLog()
		term := tmux.NewTerminal(p, log.sink, tmux.Options{History: 50})
		ended := make(chan error, 1)
		go func() { ended <- term.Run(context.Background()) }()
		eventually(t, "some output", func() bool { return len(log.deltas()) > 2000 || log.snapshots() > 0 && drawn(s) })
		p.Close()
		if err := <-ended; err == nil {
			t.Error("a cut is no end")
		}
	}
	first := s.terminal(s.attach(0), tmux.Options{History: 50})
	settle(s, "drawn")
	second := s.terminal(s.attach(0), tmux.Options{History: 50}) // a fresh viewer
	want := s.state()
	for i, term := range []*terminal{first, second} {
		term.log.until(t, "all drawn", func() bool { return bytes.Contains(term.log.screen(), []byte("\x1b]2;drawn")) })
		emu := newEmulator(t, cols, rows)
		emu.show(term.log.screen())
		settle(emu.server, "drawn")
		if got := emu.state(); got != want {
			t.Errorf("viewer %d: %s", i, firstDifference(want, got))
		}
		must(t, term.stop())
	}
}

func drawn(s *server) bool {
	return strings.Contains(s.tmux("display-message", "-p", "-t", "main:", "#{pane_title}"), "drawn")
}

// TestCutWhileTyping: keys whose answer was lost are told again to the next Terminal; each is typed once.
func TestCutWhileTyping(t *testing.T) {
	s := startServer(t, 80, 24, shell("stty raw -echo; printf =; cat")...)
	eventually(t, "raw", func() bool { return strings.Contains(s.tmux("capture-pane", "-p", "-t", "main:"), "=") })
	var want strings.Builder
	n := uint64(1)
	for round := range 8 {
		p := s.attach(0)
		term := s.terminal(p, tmux.Options{})
		applied, err := term.Applied(soon(t), "tab")
		must(t, err)
		if applied+1 < n-1 || applied > n {
			t.Fatalf("applied %d before %d", applied, n)
		}
		for n = applied + 1; ; n++ {
			cut := n%13 == 12 && int(n)/13 >= round
			if cut {
				go p.Close() // at the same time as the key
			}
			if err := term.Keys(soon(t), "tab", n, fmt.Appendf(nil, "%d,", n)); err != nil {
				break
			}
			if n > 13*8 {
				break
			}
		}
		_ = term.stop() // it was cut
	}
	term := s.terminal(s.attach(0), tmux.Options{})
	applied, err := term.Applied(soon(t), "tab")
	must(t, err)
	for i := range applied {
		fmt.Fprintf(&want, "%d,", i+1)
	}
	must(t, term.Keys(soon(t), "tab", applied+1, []byte("end")))
	eventually(t, "end", func() bool { text, err := term.Text(soon(t)); must(t, err); return strings.Contains(text, "end") })
	text, err := term.Text(soon(t))
	must(t, err)
	if got := strings.ReplaceAll(text, "\n", ""); got != "="+want.String()+"end" {
		t.Errorf("typed %q, want %q", got, want.String())
	}
}
