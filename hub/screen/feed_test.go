package screen_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claude-hub/hub/screen"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func join(t *testing.T, feeds *screen.Feeds, s claudehub.Session, w screen.Who) *browser {
	t.Helper()
	v, err := feeds.Join(t.Context(), s, w)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{v: v}
}

// drain takes all that waits.
func (b *browser) drain(t *testing.T, term *terminal) {
	t.Helper()
	for {
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		m, err := b.v.Next(ctx)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			return
		}
		if err := b.take(m, term); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAttachIsRenewedAndEndsAfterTheLastViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		a := join(t, feeds, s, who(s, "a"))
		a.drain(t, term)
		if a.snaps != 1 || w.snapshots() != 1 {
			t.Fatalf("%d snapshots shown, %d asked", a.snaps, w.snapshots())
		}
		time.Sleep(time.Minute)
		if n := w.attaches(); n < 6 || n > 8 || w.snapshots() != 1 {
			t.Errorf("in a minute %d attaches, %d snapshots", n, w.snapshots())
		}
		a.v.Leave()
		time.Sleep(5 * time.Second)
		b := join(t, feeds, s, who(s, "b")) // a reload
		b.drain(t, term)
		if len(w.detached) != 0 || b.snaps != 1 {
			t.Errorf("%d detaches, %d snapshots after a reload", len(w.detached), b.snaps)
		}
		b.v.Leave()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if len(w.detached) != 1 || w.detached[0].Feed != w.attached[0].Feed || len(w.subs) != 0 || feeds.Stats().Feeds != 0 {
			t.Errorf("left behind: %v, %d subscriptions", w.detached, len(w.subs))
		}
	})
}

func TestSeveralWhoWantASnapshotShareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		first := join(t, feeds, s, who(s, "first"))
		all := []*browser{first}
		synctest.Wait()
		for _, name := range []string{"b", "c", "d"} {
			watcher := who(s, name)
			watcher.Drive = false
			all = append(all, join(t, feeds, s, watcher))
		}
		synctest.Wait()
		if w.snapshots() != 1 {
			t.Errorf("%d snapshots asked for, expected 1", w.snapshots())
		}
		_ = term.snapshot(false)
		for _, b := range all {
			b.drain(t, term)
			if b.snaps != 1 || b.state == nil || b.state.Viewers != 4 || b.state.Cols != 80 {
				t.Errorf("%d snapshots, state %+v", b.snaps, b.state)
			}
		}
		// In step: another's snapshot is skipped, a fresh one is not.
		_ = term.write([]byte("x"), false, false)
		_ = term.snapshot(false)
		first.drain(t, term)
		if first.snaps != 1 {
			t.Error("a viewer in step took a snapshot it had no need of")
		}
		_ = term.snapshot(true)
		first.drain(t, term)
		if first.snaps != 2 {
			t.Error("a fresh snapshot was skipped")
		}
	})
}

func TestViewersAreToldWhoWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		a := join(t, feeds, s, who(s, "a"))
		a.drain(t, term)
		if len(a.state.Watchers) != 0 {
			t.Fatalf("%+v", a.state)
		}
		ada := claudehub.Face{ID: "per_ada", Login: "ada", Name: "Ada"}
		w.come(s.ID, ada)
		a.drain(t, term)
		if got := a.state.Watchers; len(got) != 1 || got[0] != ada {
			t.Errorf("%+v", got)
		}
		w.come(claudehub.NewSessionID(), ada, ada) // of a Session that nobody watches here
		w.come(s.ID)
		a.drain(t, term)
		if len(a.state.Watchers) != 0 || a.snaps != 1 {
			t.Errorf("%+v, %d snapshots", a.state, a.snaps)
		}
		stop()
		synctest.Wait()
		if w.presence != nil {
			t.Error("presence is still followed")
		}
	})
}

func TestTheRunnerThatIsAwayIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach, w.away = term.answer, true
		feeds.Links(s.ID, claudehub.Link{State: claudehub.LinkDown}, claudehub.Link{})
		b := join(t, feeds, s, who(s, "a"))
		time.Sleep(time.Minute)
		if n := w.snapshots(); n < 5 || n > 20 {
			t.Errorf("asked %d times in a minute", n)
		}
		w.mu.Lock()
		w.away = false
		w.mu.Unlock()
		feeds.Links(s.ID, claudehub.Link{State: claudehub.LinkUp}, claudehub.Link{State: claudehub.LinkUp})
		b.drain(t, term) // without waiting for the next retry
		if b.snaps != 1 || b.state.Runner.State != claudehub.LinkUp || len(b.input) != 1 {
			t.Errorf("%d snapshots, %+v, input %v", b.snaps, b.state, b.input)
		}
	})
}

func TestASlowViewerIsCutAndNothingGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		fast, slow := join(t, feeds, s, who(s, "fast")), join(t, feeds, s, who(s, "slow"))
		fast.drain(t, term)
		slow.drain(t, term)
		for range 400 { // 12 MB; nobody reads for slow
			_ = term.write(make([]byte, 30<<10), false, false)
			fast.drain(t, term)
			if err := fast.v.Ack(fast.drawn); err != nil {
				t.Fatal(err)
			}
		}
		if fast.seq != uint64(len(term.out)) || fast.snaps != 1 {
			t.Errorf("the fast viewer is at %d of %d after %d snapshots", fast.seq, len(term.out), fast.snaps)
		}
		before := slow.drawn
		slow.drain(t, term)
		if got := slow.drawn - before; got > wire.ViewerWindow+wire.MaxFrame {
			t.Errorf("%d bytes waited for the slow viewer", got)
		}
		if err := slow.v.Ack(slow.drawn); err != nil {
			t.Fatal(err)
		}
		slow.drain(t, term)
		if slow.seq != uint64(len(term.out)) {
			t.Errorf("the slow viewer is at %d of %d", slow.seq, len(term.out))
		}
		if err := slow.v.Ack(slow.drawn + 1); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("acknowledged what was not sent: %v", err)
		}
	})
}

func TestAViewerThatReadsNoTextsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		b := join(t, feeds, s, who(s, "a"))
		for i := range uint64(1000) {
			b.v.Pong(i)
		}
		if _, err := b.v.Next(t.Context()); claudehub.CodeOf(err) != claudehub.TooMany {
			t.Errorf("got %v", err)
		}
		b.v.Leave()
	})
}

func TestSizeHasOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		last := func() [2]int {
			time.Sleep(time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			r := w.resizes[len(w.resizes)-1]
			return [2]int{r.Cols, r.Rows}
		}
		owners := func(all ...*browser) (names string) {
			for _, b := range all {
				b.drain(t, term)
				if b.state.Owner {
					names += "1"
				} else {
					names += "0"
				}
			}
			return names
		}
		desk := join(t, feeds, s, who(s, "desk"))
		phone := who(s, "phone")
		phone.Cols, phone.Rows = 40, 60
		ph := join(t, feeds, s, phone)
		watcher := who(s, "watcher")
		watcher.Drive = false
		eye := join(t, feeds, s, watcher)
		if got := owners(desk, ph, eye); got != "100" || last() != [2]int{80, 24} {
			t.Errorf("owners %s, size %v", got, last())
		}
		n := len(w.resizes)
		_ = ph.v.Resize(41, 61)
		_ = eye.v.Resize(200, 50)
		if time.Sleep(time.Second); len(w.resizes) != n {
			t.Error("a size that is not the owner's reached the Runner")
		}
		if err := ph.v.Claim(); err != nil || owners(desk, ph, eye) != "010" || last() != [2]int{41, 61} {
			t.Errorf("claimed: %v, %v", err, last())
		}
		if err := eye.v.Claim(); claudehub.CodeOf(err) != claudehub.Forbidden {
			t.Errorf("a watcher claimed: %v", err)
		}
		keys(desk, term, 1)
		if owners(desk, ph, eye) != "100" || last() != [2]int{80, 24} {
			t.Errorf("typing did not claim: %v", last())
		}
		n = len(w.resizes)
		for i := range 50 {
			_ = desk.v.Resize(100+i, 30)
		}
		if last() != [2]int{149, 30} || len(w.resizes) > n+2 {
			t.Errorf("%d resizes for a drag, the last %v", len(w.resizes)-n, last())
		}
		desk.v.Leave()
		if owners(ph, eye) != "00" {
			t.Error("the size has an owner that did nothing")
		}
		_ = ph.v.Resize(42, 62)
		if owners(ph, eye) != "10" || last() != [2]int{42, 62} {
			t.Errorf("the next that acted does not own: %v", last())
		}
		if err := ph.v.Resize(0, 0); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("size zero: %v", err)
		}
		n = len(w.resizes)
		term.restart()
		_ = term.snapshot(true)
		if last() != [2]int{42, 62} || len(w.resizes) != n+1 {
			t.Error("a new life did not get the owner's size")
		}
	})
}

func keys(b *browser, term *terminal, n uint64) {
	b.v.Input(context.Background(), wire.TerminalUp{
		Type: "keys", N: n, Life: term.life, Data: base64.StdEncoding.EncodeToString([]byte("k")),
	})
}

func TestInputIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		a, b := join(t, feeds, s, who(s, "a")), join(t, feeds, s, who(s, "b"))
		a.drain(t, term)
		b.drain(t, term)
		a.input, b.input = nil, nil

		send := func(up wire.TerminalUp) wire.InputReport {
			t.Helper()
			a.input = nil
			a.v.Input(t.Context(), up)
			a.drain(t, term)
			if len(a.input) != 1 {
				t.Fatalf("%d answers", len(a.input))
			}
			return a.input[0]
		}
		b64 := base64.StdEncoding.EncodeToString
		good := wire.TerminalUp{Type: "keys", N: 1, Life: term.life, Data: b64([]byte("x"))}
		if r := send(good); r.State != wire.InputDelivered || r.N != 1 || r.Terminal != "a" {
			t.Errorf("%+v", r)
		}
		if in := w.inputs[0]; in.Author != s.Creator || string(in.Data) != "x" || in.Kind != wire.InputKeys || in.Session != s.ID {
			t.Errorf("%+v", in)
		}
		change := func(f func(*wire.TerminalUp)) wire.TerminalUp { up := good; f(&up); return up }
		for name, up := range map[string]wire.TerminalUp{
			"no number":   change(func(u *wire.TerminalUp) { u.N = 0 }),
			"no life":     change(func(u *wire.TerminalUp) { u.Life = "" }),
			"no base64":   change(func(u *wire.TerminalUp) { u.Data = "%" }),
			"nothing":     change(func(u *wire.TerminalUp) { u.Data = "" }),
			"much":        change(func(u *wire.TerminalUp) { u.Data = b64(make([]byte, claudehub.MaxKeys+1)) }),
			"paste, 5 MB": change(func(u *wire.TerminalUp) { u.Type, u.Data = "paste", strings.Repeat("p", 5<<20) }),
		} {
			if r := send(up); r.State != wire.InputRefused || r.Why == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if r := send(change(func(u *wire.TerminalUp) { u.Life = claudehub.NewNonce() })); r.State != wire.InputExpired || r.Why == "" {
			t.Errorf("another life: %+v", r)
		}
		w.away = true
		if r := send(good); r.State != wire.InputRefused || r.Why != errAway.Message {
			t.Errorf("away: %+v", r)
		}
		if len(w.inputs) != 1 {
			t.Errorf("%d inputs reached the Runner", len(w.inputs))
		}

		// Applied reports go to whom they name, and wait as one.
		a.input = nil
		for n := range uint64(500) {
			r, _ := json.Marshal(wire.InputReport{Terminal: "a", Life: term.life, N: n + 1, State: wire.InputApplied})
			_ = feeds.Publish(s.ID, wire.Frame{Kind: wire.FrameReport, Life: term.life, Data: r})
		}
		a.drain(t, term)
		b.drain(t, term)
		if len(a.input) != 1 || a.input[0].N != 500 || len(b.input) != 0 {
			t.Errorf("%v, %v", a.input, b.input)
		}
	})
}

func TestAWatcherCannotType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		watcher := who(s, "eye")
		watcher.Drive = false
		b := join(t, feeds, s, watcher)
		b.drain(t, term)
		keys(b, term, 1)
		b.drain(t, term)
		if len(w.inputs) != 0 || len(b.input) != 1 || b.input[0].State != wire.InputRefused || b.state.Drive {
			t.Errorf("%v %v", w.inputs, b.input)
		}
	})
}

func TestTheSameTerminalAgainEndsTheOldConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		s := testSession()
		old := join(t, feeds, s, who(s, "a"))
		again := join(t, feeds, s, who(s, "a"))
		if _, err := old.v.Next(t.Context()); claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("the old one: %v", err)
		}
		old.v.Leave()
		if _, err := again.v.Next(t.Context()); err != nil {
			t.Errorf("the new one: %v", err)
		}
		if _, err := feeds.Join(t.Context(), s, who(s, "Not A Name")); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("a bad name: %v", err)
		}
		stop()
		if _, err := again.v.Next(t.Context()); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("after the end: %v", err)
		}
		if _, err := feeds.Join(t.Context(), s, who(s, "b")); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("joined after the end: %v", err)
		}
	})
}

// A life has its own numbers: a viewer that stands where the last life ended is not in step with the next, whatever its
// first frame is.
func TestNobodyIsInStepWithALifeThatBegins(t *testing.T) {
	for _, before := range []int{0, 1, 100} {
		for _, first := range []string{"snapshot", "fresh snapshot", "delta"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWires()
				feeds, stop := start(t, w)
				defer stop()
				s := testSession()
				term := newTerminal(feeds, s.ID)
				w.onAttach = term.answer
				b := join(t, feeds, s, who(s, "a"))
				if before > 0 {
					_ = term.write([]byte(strings.Repeat("a", before)), false, false)
				}
				b.drain(t, term)
				term.restart()
				_ = term.write([]byte(strings.Repeat("b", max(before, 1))), first != "delta", false)
				if first != "delta" {
					_ = term.snapshot(first != "snapshot")
				}
				b.drain(t, term)
				_ = term.write([]byte("c"), false, false)
				b.drain(t, term)
				if b.life != term.life || b.seq != uint64(len(term.out)) {
					t.Errorf("after %d bytes and a %s: shows %s at %d, the terminal is at %s %d", before, first, b.life, b.seq, term.life, len(term.out))
				}
			})
		}
	}
}

// A burst of keys whose answers a busy browser has not read yet ends nothing: its reports wait as a few, the last of each
// kind, and none has overtaken the refusal in their midst.
func TestReportsOfABurstWaitAsAFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires()
		feeds, stop := start(t, w)
		defer stop()
		s := testSession()
		term := newTerminal(feeds, s.ID)
		w.onAttach = term.answer
		b := join(t, feeds, s, who(s, "a"))
		b.drain(t, term)
		b.input = nil
		report := func(n uint64, state wire.InputState) {
			r, _ := json.Marshal(wire.InputReport{Terminal: "a", Life: term.life, N: n, State: state})
			_ = feeds.Publish(s.ID, wire.Frame{Kind: wire.FrameReport, Life: term.life, Data: r})
		}
		for n := range uint64(1000) {
			keys(b, term, n+1)
			report(n+1, wire.InputApplied)
			if n == 499 {
				report(501, wire.InputRefused)
			}
		}
		b.drain(t, term)
		var got []string
		for _, r := range b.input {
			got = append(got, fmt.Sprint(r.State, " ", r.N))
		}
		want := []string{"delivered 500", "applied 500", "refused 501", "delivered 1000", "applied 1000"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, expected %q", got, want)
		}
	})
}
