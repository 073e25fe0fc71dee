package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// moment is a time inside the hour that Newfoundland has twice.
var moment = time.Date(2026, 11, 1, 4, 1, 2, 345678901, time.UTC)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is one person with one Runner and one Session.
type world struct {
	person  claudehub.Person
	runner  claudehub.Runner
	session store.Session
}

func populate(t testing.TB, st *store.Store) world {
	t.Helper()
	now := store.Round(moment)
	w := world{person: claudehub.Person{ID: claudehub.NewPersonID(), Login: "local", Name: "Ada ✓", Role: claudehub.RoleMember, Created: now}}
	w.runner = claudehub.Runner{ID: claudehub.NewRunnerID(), Owner: w.person.ID, Name: "laptop", Created: now,
		Link: claudehub.Link{State: claudehub.LinkDown, Since: now}}
	w.session = store.Session{
		Session: claudehub.Session{ID: claudehub.NewSessionID(), Title: "Größe", Creator: w.person.ID, Runner: w.runner.ID,
			Source: claudehub.Source{GitURL: "https://example.org/a", Branch: "main"}, Desired: claudehub.WantAwake,
			Model: "opus", Effort: "high", Generation: 3, Created: now, Updated: now, Kind: claudehub.KindClaude,
			Forwards: []claudehub.Forward{{Port: 3000, Same: true}, {Port: 8080}},
			Observed: claudehub.Observed{Phase: claudehub.PhaseFailed, Generation: 2, Since: now, Doing: "a\x00b",
				SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now}, Checked: now,
				Figures: claudehub.Figures{CPU: 0.5, Memory: 1 << 40, Disk: 7, DiskLimit: 9},
				Ports:   []claudehub.Port{{Port: 3000, Listens: true, Local: "127.0.0.1:1"}}, Checks: []claudehub.Check{{Name: "clock", State: claudehub.CheckOK}},
				Failure: &claudehub.Failure{Step: "Cloning", Reason: "no", Fix: "yes", Choice: "new_conversation"}}},
		Conversation: 2, StopAt: now, Request: "req",
	}
	ctx := t.Context()
	check(t, st.Write(ctx, func(q store.Q) error {
		if err := errors.Join(q.AddPerson(ctx, w.person), q.AddRunner(ctx, w.runner, "hash")); err != nil {
			return err
		}
		seq, err := q.NextSeq(ctx, w.runner.ID)
		w.session.Seq = seq
		return errors.Join(err, q.AddSession(ctx, w.session))
	}))
	return w
}

func TestEverythingComesBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		person, err := st.Read().PersonByLogin(ctx, "local")
		check(t, err)
		if diff := cmp.Diff(w.person, person); diff != "" {
			t.Error("person", diff)
		}
		session, err := st.Read().Session(ctx, w.session.ID)
		check(t, err)
		if diff := cmp.Diff(w.session, session); diff != "" {
			t.Error("session", diff)
		}
		session, err = st.Read().SessionByRequest(ctx, w.person.ID, "req")
		check(t, err)
		if diff := cmp.Diff(w.session, session); diff != "" {
			t.Error("session by request", diff)
		}

		machine := claudehub.Machine{Hostname: "h", CPUs: 8, Load: 1.25, MemoryTotal: 1 << 40, Reported: store.Round(moment),
			Doctor: []claudehub.Finding{{Name: "bwrap", OK: true}}}
		lease := store.Lease{Instance: "i", Host: "h", Hub: "hub", Since: store.Round(moment), Renewed: store.Round(moment)}
		link := claudehub.Link{State: claudehub.LinkUp, Since: store.Round(moment)}
		check(t, st.Write(ctx, func(q store.Q) error {
			return errors.Join(q.SetMachine(ctx, w.runner.ID, machine), q.SetLink(ctx, w.runner.ID, link, lease))
		}))
		want := store.Runner{Runner: w.runner, Seq: 1, Lease: lease, ReclaimWhat: []string{}}
		want.Machine, want.Link = machine, link
		linked, err := st.Read().LinkedRunners(ctx)
		check(t, err)
		if diff := cmp.Diff([]store.Runner{want}, linked); diff != "" {
			t.Error("runner", diff)
		}
	})
}

func TestPromptsAndEvents(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		now := store.Round(moment)
		var want []claudehub.Prompt
		for i := range 5 {
			p := claudehub.Prompt{ID: claudehub.NewPromptID(), Session: w.session.ID, Author: w.person.ID,
				Text: fmt.Sprintf("prompt %d\r\n\t✓", i), State: claudehub.PromptQueued, Created: now, Updated: now,
				Expires: now.Add(time.Duration(i) * time.Microsecond)}
			want = append(want, p)
			check(t, st.Write(ctx, func(q store.Q) error { return q.AddPrompt(ctx, p, fmt.Sprint("key", i)) }))
		}
		got, err := st.Read().OpenPrompts(ctx, w.session.ID)
		check(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("open", diff)
		}
		got, err = st.Read().Prompts(ctx, w.session.ID, 2)
		check(t, err)
		if diff := cmp.Diff(want[3:], got); diff != "" {
			t.Error("newest two", diff)
		}
		got, err = st.Read().DuePrompts(ctx, now.Add(time.Microsecond), 10)
		check(t, err)
		if diff := cmp.Diff(want[:2], got); diff != "" {
			t.Error("due", diff)
		}
		err = st.Write(ctx, func(q store.Q) error {
			p := want[0]
			p.ID = claudehub.NewPromptID()
			return q.AddPrompt(ctx, p, "key0")
		})
		if claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("the same request key twice: %v", err)
		}

		e := wire.Event{ID: claudehub.NewEventID(), Session: w.session.ID, Kind: wire.ReportTurn, At: now, Text: "done", Ended: true}
		for i := range 2 {
			check(t, st.Write(ctx, func(q store.Q) error {
				first, err := q.AddEvent(ctx, e, now)
				if first != (i == 0) {
					t.Errorf("time %d: first is %v", i, first)
				}
				return err
			}))
		}
		events, err := st.Read().Events(ctx, w.session.ID, wire.ReportPrompt, 10)
		check(t, err)
		if diff := cmp.Diff([]wire.Event{e}, events); diff != "" {
			t.Error("events", diff)
		}
	})
}

func TestSignInLinkIsForOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		check(t, st.Write(ctx, func(q store.Q) error {
			return q.AddSignInLink(ctx, "hash", w.person.ID, moment, moment.Add(time.Minute))
		}))
		use := func(now time.Time) (p claudehub.PersonID, err error) {
			err = st.Write(ctx, func(q store.Q) error { p, err = q.UseSignInLink(ctx, "hash", now); return err })
			return p, err
		}
		if _, err := use(moment.Add(time.Minute)); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("an expired link: %v", err)
		}
		p, err := use(moment.Add(time.Second))
		check(t, err)
		if p != w.person.ID {
			t.Errorf("the link is %s's", p)
		}
		if _, err := use(moment.Add(time.Second)); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("a used link: %v", err)
		}
	})
}

func TestWriteIsWholeOrAbsent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		boom := errors.New("boom")
		rename := func(q store.Q) error { return q.SetRunnerName(ctx, w.runner.ID, "other") }
		err := st.Write(ctx, func(q store.Q) error { return errors.Join(rename(q), boom) })
		if !errors.Is(err, boom) {
			t.Fatalf("the error was %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = st.Write(ctx, func(q store.Q) error { check(t, rename(q)); panic("boom") })
		}()
		r, err := st.Read().Runner(ctx, w.runner.ID)
		check(t, err)
		if r.Name != "laptop" {
			t.Errorf("the name is %q", r.Name)
		}
		check(t, st.Write(ctx, rename)) // and the connection is not lost
	})
}

// Two writers, each in a loop, on one Runner's log: every number is taken once and none is skipped.
func TestTwoWriters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		const each = 50
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[int64]bool{}
		for range 2 {
			wg.Go(func() {
				for range each {
					err := st.Write(ctx, func(q store.Q) error {
						if _, err := q.LockRunner(ctx, w.runner.ID); err != nil {
							return err
						}
						s, err := q.Session(ctx, w.session.ID)
						if err != nil {
							return err
						}
						if s.Seq, err = q.NextSeq(ctx, w.runner.ID); err != nil {
							return err
						}
						s.Generation++
						mu.Lock()
						seen[s.Seq] = true
						mu.Unlock()
						return q.SetDesired(ctx, s)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s, err := st.Read().Session(ctx, w.session.ID)
		check(t, err)
		if len(seen) != 2*each || s.Seq != 2*each+1 || s.Generation != w.session.Generation+2*each {
			t.Errorf("%d numbers, the last %d, generation %d", len(seen), s.Seq, s.Generation)
		}
	})
}

// A view is one state: what is committed meanwhile does not show in it.
func TestViewDoesNotMove(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		check(t, st.View(ctx, func(q store.Q) error {
			before, err := q.Runner(ctx, w.runner.ID)
			check(t, err)
			check(t, st.Write(ctx, func(q store.Q) error { return q.SetRunnerName(ctx, w.runner.ID, "other") }))
			after, err := q.Runner(ctx, w.runner.ID)
			check(t, err)
			if before.Name != after.Name {
				t.Errorf("%q became %q inside a view", before.Name, after.Name)
			}
			return nil
		}))
	})
}

func TestErrorsHaveCodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, w := t.Context(), populate(t, st)
		other := w.runner
		other.ID = claudehub.NewRunnerID()
		stranger := w.session
		stranger.ID, stranger.Runner, stranger.Request, stranger.Seq = claudehub.NewSessionID(), claudehub.NewRunnerID(), "", 9
		done, cancel := context.WithCancel(ctx)
		cancel()
		for name, c := range map[string]struct {
			want claudehub.Code
			do   func() error
		}{
			"absent": {claudehub.NotFound, func() error { _, err := st.Read().Session(ctx, claudehub.NewSessionID()); return err }},
			"no row": {claudehub.NotFound, func() error {
				return st.Write(ctx, func(q store.Q) error { return q.SetRunnerName(ctx, "run_x", "n") })
			}},
			"taken":     {claudehub.Conflict, func() error { return st.Write(ctx, func(q store.Q) error { return q.AddRunner(ctx, other, "h2") }) }},
			"dangling":  {claudehub.NotFound, func() error { return st.Write(ctx, func(q store.Q) error { return q.AddSession(ctx, stranger) }) }},
			"cancelled": {claudehub.Unavailable, func() error { return st.Ping(done) }},
		} {
			if err := c.do(); claudehub.CodeOf(err) != c.want {
				t.Errorf("%s: code %q of %v", name, claudehub.CodeOf(err), err)
			}
		}
	})
}
