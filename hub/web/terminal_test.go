package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// stage is a house where Ann's Runner is linked and shows a terminal.
type stage struct {
	*house
	ctx  context.Context //nolint:containedctx // the test's own deadline
	term *runnertest.Terminal
	stop func()
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{house: newHouse(t), ctx: within(t, 60*time.Second)}
	s.term = s.annR.NewTerminal(s.annS.ID)
	s.serve(t)
	return s
}

// serve links the Runner, until s.stop or the end of the test.
func (s *stage) serve(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.term.Serve(ctx) })
	s.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(s.stop)
	s.link(t, claudehub.LinkUp)
}

func (s *stage) link(t testing.TB, want claudehub.LinkState) {
	t.Helper()
	for {
		l, err := s.Fleet.RunnerLink(s.ctx, s.annR.ID)
		if err != nil {
			t.Fatal(err)
		}
		if l.State == want {
			return
		}
		select {
		case <-s.ctx.Done():
			t.Fatalf("the link is %s, expected %s", l.State, want)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (s *stage) view(t testing.TB, name string) *runnertest.View {
	t.Helper()
	v, err := s.ann.View(s.ctx, s.annS.ID, wire.TerminalUp{Terminal: name, Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func (s *stage) until(t testing.TB, v *runnertest.View, what string, ok func(*runnertest.View) bool) {
	t.Helper()
	if err := v.Until(s.ctx, ok); err != nil {
		v.Look(func(v *runnertest.View) {
			t.Fatalf("%s: %v; shown %d bytes at %d, %d snapshots, state %+v, inputs %v", what, err, len(v.Shown), v.Seq, v.Snaps, v.State, v.Inputs)
		})
	}
}

func ready(v *runnertest.View) bool { return v.Snaps > 0 && v.State.Runner.State == claudehub.LinkUp }

func shows(text string) func(*runnertest.View) bool {
	return func(v *runnertest.View) bool { return bytes.HasSuffix(v.Shown, []byte(text)) }
}

func applied(n uint64) func(*runnertest.View) bool {
	return func(v *runnertest.View) bool {
		for _, r := range v.Inputs {
			if r.State == wire.InputApplied && r.N >= n {
				return true
			}
		}
		return false
	}
}

func (s *stage) changed(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for {
		seen := s.term.Changed()
		if ok() {
			return
		}
		select {
		case <-seen:
		case <-s.ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTerminalTypesAndShows(t *testing.T) {
	s := newStage(t)
	v := s.view(t, "tab-1")
	s.until(t, v, "first screen", ready)
	v.Look(func(v *runnertest.View) {
		if v.Texts[0].Type != "state" || !v.State.Drive || !v.State.Owner || v.State.Viewers != 1 {
			t.Errorf("first text %+v, state %+v", v.Texts[0], v.State)
		}
	})
	s.changed(t, "size", func() bool { c, r := s.term.Size(); return c == 100 && r == 30 })
	for i, text := range []string{"h", "é", "🙂", "\x03", "\x1b[A"} {
		if err := v.Type(s.ctx, uint64(i+1), s.term.Life(), text); err != nil {
			t.Fatal(err)
		}
		s.until(t, v, "echo of "+text, shows(text))
	}
	if err := v.Send(s.ctx, wire.TerminalUp{Type: "paste", N: 6, Life: s.term.Life(), Data: strings.Repeat("\x00ü", 150_000)}); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "paste", applied(6))
	in := s.term.Inputs()
	if last := in[len(in)-1]; last.Kind != wire.InputPaste || len(last.Data) != 450_000 || last.Author != s.ann.Person.ID {
		t.Errorf("%s of %d bytes by %s", last.Kind, len(last.Data), last.Author)
	}
	if err := v.Send(s.ctx, wire.TerminalUp{Type: "ping", ID: 7}); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "pong", func(v *runnertest.View) bool {
		last := v.Texts[len(v.Texts)-1]
		return last.Type == "pong" && last.ID == 7
	})
	v.Close()
	s.changed(t, "detach", func() bool { return s.term.Attached() == 0 })
}

func TestTerminalRefusesAndSays(t *testing.T) {
	s := newStage(t)
	v := s.view(t, "tab-1")
	s.until(t, v, "first screen", ready)
	refusedWith := func(word string) func(*runnertest.View) bool {
		return func(v *runnertest.View) bool {
			last := v.Texts[len(v.Texts)-1]
			return last.Type == "refused" && strings.Contains(last.Why, word) || last.Input != nil && strings.Contains(last.Input.Why, word)
		}
	}
	for word, up := range map[string]wire.TerminalUp{
		"not possible":  {Type: "size", Cols: 0, Rows: 0},
		"newer":         {},
		"was restarted": {Type: "keys", N: 1, Life: claudehub.NewNonce(), Data: "eA=="},
		"most that can": {Type: "paste", N: 1, Life: s.term.Life(), Data: strings.Repeat("p", 700_000)},
		"base64":        {Type: "keys", N: 1, Life: s.term.Life(), Data: "?"},
		"does not know": {Type: "dance"},
	} {
		if word == "newer" {
			continue
		}
		if err := v.Send(s.ctx, up); err != nil {
			t.Fatal(err)
		}
		s.until(t, v, word, refusedWith(word))
	}
	if err := v.Type(s.ctx, 1, s.term.Life(), "still fine"); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "echo", shows("still fine"))
	// 5 MB is more than one message may have: the connection ends, and a new one works.
	_ = v.Send(s.ctx, wire.TerminalUp{Type: "paste", N: 2, Life: s.term.Life(), Data: strings.Repeat("p", 5<<20)})
	if err := v.Until(s.ctx, func(*runnertest.View) bool { return false }); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("5 MB: %v", err)
	}
	again := s.view(t, "tab-1")
	s.until(t, again, "screen again", shows("still fine"))
}

func TestTerminalNeedsAHelloAndARight(t *testing.T) {
	s := newStage(t)
	_, status, err := s.bob.Dial(s.ctx, s.annS.ID, nil)
	if err == nil || status != http.StatusNotFound {
		t.Errorf("Bob at Ann's terminal: %d %v", status, err)
	}
	_, status, err = (&runnertest.Browser{Hub: s.Hub}).Dial(s.ctx, s.annS.ID, nil)
	if err == nil || status != http.StatusUnauthorized {
		t.Errorf("nobody at Ann's terminal: %d %v", status, err)
	}
	for name, first := range map[string]string{
		"keys first": `{"type":"keys"}`, "no JSON": `{`, "a bad name": `{"type":"hello","terminal":"A b"}`,
		"a size of zero rows": `{"type":"hello","terminal":"a","cols":80,"rows":0}`,
	} {
		conn, _, err := s.ann.Dial(s.ctx, s.annS.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Write(s.ctx, websocket.MessageText, []byte(first)); err != nil {
			t.Fatal(err)
		}
		_, b, err := conn.Read(s.ctx)
		if err != nil || !strings.Contains(string(b), `"refused"`) {
			t.Errorf("%s: %s %v", name, b, err)
		}
		if _, _, err := conn.Read(s.ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v", name, err)
		}
	}
	conn, _, err := s.ann.Dial(s.ctx, s.annS.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, _, err := conn.Read(s.ctx); err == nil || time.Since(start) < 4*time.Second || time.Since(start) > 15*time.Second {
		t.Errorf("without a hello: %v after %s", err, time.Since(start))
	}
}

// TestReconnectResendsWhatWasNotApplied cuts the browser's connection while it types and follows the rule of the API:
// after the report of what was applied, send what is above it.
func TestReconnectResendsWhatWasNotApplied(t *testing.T) {
	s := newStage(t)
	const total = 60
	text := func(n uint64) string { return fmt.Sprintf("<%d>", n) }
	life, want := s.term.Life(), ""
	for n := range uint64(total) {
		want += text(n + 1)
	}
	sent := uint64(0)
	for round := 0; ; round++ {
		v := s.view(t, "tab-1")
		s.until(t, v, "screen and report", func(v *runnertest.View) bool { return ready(v) && applied(0)(v) })
		done := uint64(0)
		v.Look(func(v *runnertest.View) {
			for _, r := range v.Inputs {
				if r.State == wire.InputApplied && r.Life == life {
					done = max(done, r.N)
				}
			}
		})
		if done > sent {
			t.Fatalf("%d applied of %d sent", done, sent)
		}
		if done == total {
			s.until(t, v, "all", shows(want))
			break
		}
		for n := done + 1; n <= min(done+17, total); n++ {
			if err := v.Type(s.ctx, n, life, text(n)); err != nil {
				t.Fatal(err)
			}
			sent = max(sent, n)
		}
		if round%2 == 0 { // cut with input on its way, or after some of it came
			s.until(t, v, "some", applied(min(done+3, total)))
		}
		v.Close()
		if round > 50 {
			t.Fatal("no end")
		}
	}
	if got := string(s.term.Output()); got != want {
		t.Errorf("typed %q", got)
	}
}

func TestAllHopsComeBack(t *testing.T) {
	s := newStage(t)
	v := s.view(t, "tab-1")
	s.until(t, v, "first screen", ready)
	if err := v.Type(s.ctx, 1, s.term.Life(), "before"); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "echo", shows("before"))

	// The Runner goes: the terminal says so, and typing is refused with a reason.
	s.stop()
	s.link(t, claudehub.LinkDown)
	s.until(t, v, "link down", func(v *runnertest.View) bool { return v.State.Runner.State == claudehub.LinkDown })
	if err := v.Type(s.ctx, 2, s.term.Life(), "lost"); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "refused", func(v *runnertest.View) bool {
		last := v.Inputs[len(v.Inputs)-1]
		return last.State == wire.InputRefused && last.N == 2 && strings.Contains(last.Why, "not been connected")
	})

	// It comes back with another life: a new snapshot, and no byte of the old.
	s.serve(t)
	if err := s.term.Restart(s.ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.term.Write(s.ctx, []byte("new life")); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "new life", func(v *runnertest.View) bool {
		return ready(v) && string(v.Shown) == "new life" && v.Life == s.term.Life()
	})
	if err := v.Type(s.ctx, 1, s.term.Life(), "!"); err != nil {
		t.Fatal(err)
	}
	s.until(t, v, "echo in the new life", shows("new life!"))

	// The Hub is restarted: the connection ends with a reason, and the next shows the same screen.
	s.Restart()
	if err := v.Until(s.ctx, func(*runnertest.View) bool { return false }); websocket.CloseStatus(err) < 0 {
		t.Errorf("the end: %v", err)
	}
	s.link(t, claudehub.LinkUp)
	v = s.view(t, "tab-1")
	s.until(t, v, "after the restart", func(v *runnertest.View) bool { return ready(v) && shows("new life!")(v) })
}

func TestTwoViewersOneSlow(t *testing.T) {
	s := newStage(t)
	fast, slow := s.view(t, "fast"), s.view(t, "slow")
	s.until(t, fast, "first screen", ready)
	s.until(t, slow, "first screen", ready)
	release := slow.Hold()
	chunk := bytes.Repeat([]byte("y\r\n"), 10_000)
	written := uint64(0)
	for n := range uint64(400) { // 12 MB
		if err := s.term.Write(s.ctx, chunk); err != nil {
			t.Fatal(err)
		}
		written += uint64(len(chunk))
		s.until(t, fast, "flood", func(v *runnertest.View) bool { return v.Seq >= written })
		// The pong is read after the acknowledgement was sent, so that the fast viewer is never behind, on any machine.
		if err := fast.Send(s.ctx, wire.TerminalUp{Type: "ping", ID: n + 1}); err != nil {
			t.Fatal(err)
		}
		s.until(t, fast, "pong", func(v *runnertest.View) bool {
			return slices.ContainsFunc(v.Texts, func(d wire.TerminalDown) bool { return d.Type == "pong" && d.ID == n+1 })
		})
	}
	begin := time.Now()
	if err := fast.Type(s.ctx, 1, s.term.Life(), "\x03"); err != nil {
		t.Fatal(err)
	}
	s.until(t, fast, "Ctrl-C", shows("\x03"))
	if took := time.Since(begin); took > time.Second {
		t.Errorf("Ctrl-C took %s", took)
	}
	fast.Look(func(v *runnertest.View) {
		if v.Snaps != 1 {
			t.Errorf("the fast viewer was cut to %d snapshots", v.Snaps)
		}
	})
	before := s.Feeds.Stats()
	release()
	s.until(t, slow, "catch up", shows("\x03"))
	slow.Look(func(v *runnertest.View) {
		if v.Snaps < 2 {
			t.Error("the slow viewer got everything instead of a snapshot")
		}
	})
	if before.Behind == 0 || s.Feeds.Stats().Bytes-before.Bytes > 2<<20 {
		t.Errorf("%+v, then %+v", before, s.Feeds.Stats())
	}
}

func TestTheSizeGoesToWhoClaims(t *testing.T) {
	s := newStage(t)
	desk := s.view(t, "desk")
	s.until(t, desk, "first screen", ready)
	phone, err := s.ann.View(s.ctx, s.annS.ID, wire.TerminalUp{Terminal: "phone", Cols: 40, Rows: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer phone.Close()
	s.until(t, phone, "first screen", func(v *runnertest.View) bool { return ready(v) && !v.State.Owner && v.State.Viewers == 2 })
	if err := phone.Send(s.ctx, wire.TerminalUp{Type: "claim"}); err != nil {
		t.Fatal(err)
	}
	s.until(t, phone, "claim", func(v *runnertest.View) bool { return v.State.Owner })
	s.until(t, desk, "lost", func(v *runnertest.View) bool { return !v.State.Owner })
	s.changed(t, "phone's size", func() bool { c, _ := s.term.Size(); return c == 40 })
	phone.Close()
	if err := desk.Type(s.ctx, 1, s.term.Life(), "x"); err != nil {
		t.Fatal(err)
	}
	s.changed(t, "desk's size", func() bool { c, _ := s.term.Size(); return c == 100 })
}
