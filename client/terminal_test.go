package client_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func size(cols, rows int) client.TerminalOptions {
	return client.TerminalOptions{Cols: cols, Rows: rows}
}

func TestTypingComesBackAsOutput(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(100, 30))
	v.typing()
	check(t, v.Keys([]byte("hello")))
	v.shows("hello")
	check(t, v.Paste("two\nlines"))
	v.shows("hellotwo\nlines")
	in := s.term.Inputs()
	if len(in) != 2 || in[0].Kind != wire.InputKeys || in[1].Kind != wire.InputPaste || in[0].Author != s.ann.ID {
		t.Errorf("it came as %+v", in)
	}
	s.changed(t, "the size is claimed", func() bool { c, r := s.term.Size(); return c == 100 && r == 30 })
	check(t, v.Resize(90, 20))
	s.changed(t, "the size follows", func() bool { c, r := s.term.Size(); return c == 90 && r == 20 })
	wantCode(t, "no size", v.Resize(0, 0), claudehub.Invalid)
	wantCode(t, "a large paste", v.Paste(strings.Repeat("x", claudehub.MaxPaste+1)), claudehub.TooLarge)
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
			t.Fatal(what)
		}
	}
}

func TestTwoSizes(t *testing.T) {
	s := newStage(t)
	first := s.view(t, s.client, size(100, 30))
	first.typing()
	watcher := s.view(t, s.client, client.TerminalOptions{Cols: 40, Rows: 10, Watch: true})
	watcher.until("a screen", func() bool { return watcher.snaps > 0 })
	wantCode(t, "keys of a watcher", watcher.Keys([]byte("x")), claudehub.Forbidden)
	wantCode(t, "claim of a watcher", watcher.Claim(), claudehub.Forbidden)
	second := s.view(t, s.client, size(120, 40))
	second.until("it takes the size", func() bool { st := second.Status().State; return st != nil && st.Owner })
	s.changed(t, "its size", func() bool { c, _ := s.term.Size(); return c == 120 })
	check(t, first.Claim())
	s.changed(t, "claimed back", func() bool { c, _ := s.term.Size(); return c == 100 })
	if st := watcher.Status(); st.Typing {
		t.Errorf("a watcher could type: %+v", st)
	}
}

// TestCutsWhileTyping types while the link is cut over and over: each key arrives once and in order, or is refused here.
func TestCutsWhileTyping(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	var sent bytes.Buffer
	for i := range 60 {
		v.typing()
		text := fmt.Sprintf("<%d>", i)
		if err := v.Keys([]byte(text)); err != nil {
			wantCode(t, "typed while it broke", err, claudehub.Unavailable)
		} else {
			sent.WriteString(text)
		}
		if i%5 == 4 {
			s.cable.cut(false)
			v.until("it notices", func() bool { return v.Status().Hub.State == claudehub.LinkDown || v.snaps > i/5+1 })
		}
	}
	v.typing()
	check(t, v.Keys([]byte("end")))
	v.shows("end")
	got := string(s.term.Output())
	v.mu.Lock()
	notices := len(v.notices)
	v.mu.Unlock()
	// Keys that Run had not taken yet when the link broke are refused with a notice; all others arrive.
	if lost := strings.Count(sent.String(), "<") - strings.Count(got, "<"); lost > notices {
		t.Errorf("%d lost and %d notices: %s", lost, notices, got)
	}
	last := -1
	for part := range strings.SplitSeq(strings.TrimSuffix(got, "end"), ">") {
		var n int
		if part == "" {
			continue
		}
		if _, err := fmt.Sscanf(part, "<%d", &n); err != nil || n <= last {
			t.Fatalf("out of order or twice: %s", got)
		}
		last = n
	}
	v.until("all of it is shown", func() bool { return string(v.shown) == got })
}

func TestHubAway(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	v.typing()
	check(t, v.Keys([]byte("before")))
	v.shows("before")
	s.cable.cut(true)
	v.until("down", func() bool { st := v.Status(); return st.Hub.State == claudehub.LinkDown && st.Why != "" })
	wantCode(t, "keys into an old screen", v.Keys([]byte("lost")), claudehub.Unavailable)
	tries := s.cable.tries()
	v.until("tried again", func() bool { return s.cable.tries() > tries+1 })
	check(t, s.term.Write(s.ctx, []byte(" meanwhile")))
	s.cable.mend()
	v.typing()
	v.shows("before meanwhile")
	check(t, v.Keys([]byte(" after")))
	v.shows("before meanwhile after")
	if got := string(s.term.Output()); strings.Contains(got, "lost") {
		t.Errorf("stale bytes arrived: %q", got)
	}
}

func TestRunnerAway(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	v.typing()
	s.stop()
	v.until("the far hop is down", func() bool {
		st := v.Status()
		return st.State != nil && st.State.Runner.State == claudehub.LinkDown && st.Hub.State == claudehub.LinkUp
	})
	wantCode(t, "keys", v.Keys([]byte("x")), claudehub.Unavailable)
	s.serve(t)
	v.typing()
	check(t, v.Keys([]byte("back")))
	v.shows("back")
}

func TestAnotherLife(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	v.typing()
	check(t, v.Keys([]byte("old")))
	v.shows("old")
	check(t, s.term.Restart(s.ctx))
	v.until("an empty screen", func() bool { return len(v.shown) == 0 })
	check(t, v.Keys([]byte("new")))
	v.shows("new")
	if got := string(s.term.Output()); got != "new" {
		t.Errorf("the new life has %q", got)
	}
}

func TestMuchOutputIsAcknowledged(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	v.typing()
	block := bytes.Repeat([]byte("0123456789abcdef"), 4<<10) // 64 KiB
	for i := range 40 {
		check(t, s.term.Write(s.ctx, block))
		check(t, s.term.Write(s.ctx, fmt.Appendf(nil, "(%d)", i)))
	}
	v.shows("(39)")
}

func TestHubRestarts(t *testing.T) {
	s := newStage(t)
	v := s.view(t, s.client, size(80, 24))
	v.typing()
	check(t, v.Keys([]byte("a")))
	v.shows("a")
	s.Restart()
	v.typing()
	check(t, v.Keys([]byte("b")))
	v.shows("ab")
}

func TestTerminalRefused(t *testing.T) {
	s := newStage(t)
	bob := s.as(t, s.Person("bob"))
	v := s.view(t, bob, size(80, 24))
	wantCode(t, "another person's Session", waitEnd(v), claudehub.NotFound)
}

// waitEnd waits until Run returned by itself.
func waitEnd(v *viewer) error {
	for {
		v.mu.Lock()
		seen, err := v.seen, v.err
		v.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-seen:
		case <-v.ctx.Done():
			return v.ctx.Err()
		}
	}
}

// TestSignedOutMeanwhile: the Hub says so on the connection, or at the next one.
func TestSignedOutMeanwhile(t *testing.T) {
	for name, cut := range map[string]bool{"on the connection": false, "at the next": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			v := s.view(t, s.client, size(80, 24))
			v.typing()
			check(t, s.signOutAll())
			if cut {
				s.cable.cut(false)
			}
			wantCode(t, "after the sign-in was revoked", waitEnd(v), claudehub.Unauthenticated)
		})
	}
}

func (s *stage) signOutAll() error {
	all, err := s.Fleet.SignIns(s.ctx, s.ann.ID)
	for _, in := range all {
		if err == nil {
			err = s.Fleet.RevokeSignIn(s.ctx, s.ann.ID, in.ID)
		}
	}
	return err
}
