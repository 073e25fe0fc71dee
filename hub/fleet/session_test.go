package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var dirs sync.Map // *store.Store → its folder

func openSQLite(t testing.TB) *store.Store {
	dir := t.TempDir()
	st := storetest.Open(t, "sqlite:"+filepath.Join(dir, "hub.db"))
	dirs.Store(st, dir)
	return st
}

// inFiles names the file of the database that holds s.
func inFiles(t testing.TB, r *rig, s string) string {
	t.Helper()
	dir, _ := dirs.Load(r.st)
	entries, err := os.ReadDir(dir.(string))
	check(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir.(string), e.Name()))
		check(t, err)
		if strings.Contains(string(b), s) {
			return e.Name()
		}
	}
	return ""
}

func newSession() fleet.NewSession { return fleet.NewSession{Title: "one"} }

func TestCreateSession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		heard := r.listen("x")
		s := r.create(fleet.NewSession{Prompt: "Fix the bug\nin main.go", Request: "k"})
		hear(t, heard, fleet.Nudge)
		if s.Title != "Fix the bug" || s.Model != "default" || s.Effort != "default" || s.Desired != claudehub.WantAwake ||
			s.Observed.Phase != claudehub.PhaseNew || s.Generation != 1 || s.Creator != r.me {
			t.Errorf("the Session is %+v", s)
		}
		again := r.create(fleet.NewSession{Prompt: "Fix the bug\nin main.go", Request: "k"})
		if diff := cmp.Diff(s, again); diff != "" {
			t.Error("the same request gave another Session", diff)
		}
		prompts, err := r.Prompts(r.ctx, r.me, s.ID)
		check(t, err)
		if len(prompts) != 1 || prompts[0].Text != "Fix the bug\nin main.go" || prompts[0].State != claudehub.PromptQueued {
			t.Errorf("the prompts are %v", prompts)
		}
		for name, n := range map[string]fleet.NewSession{
			"model":    {Model: "gpt"},
			"effort":   {Effort: "huge"},
			"git URL":  {Source: claudehub.Source{GitURL: "file:///etc"}},
			"password": {Source: claudehub.Source{GitURL: "https://u:p@example.org/x"}},
			"branch":   {Source: claudehub.Source{Branch: "main"}},
			"title":    {Title: strings.Repeat("x", 201)},
			"prompt":   {Prompt: "a\x00b"},
			"request":  {Request: strings.Repeat("x", 101)},
		} {
			n.Runner = r.runner
			_, err := r.CreateSession(r.ctx, r.me, n)
			wantCode(t, name, err, claudehub.Invalid)
		}
		_, err = r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: r.theirs})
		wantCode(t, "another's Runner", err, claudehub.NotFound)
		_, err = r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: claudehub.NewRunnerID()})
		wantCode(t, "no Runner", err, claudehub.NotFound)
	})
}

// The same request at the same moment, from a page that tried again.
func TestCreateTogether(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		other := r.addRunner(r.me, "second")
		ids := make([]claudehub.SessionID, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				n := fleet.NewSession{Runner: r.runner, Title: "x", Prompt: "p", Request: "same"}
				if i%2 == 1 {
					n.Runner = other
				}
				s, err := r.CreateSession(r.ctx, r.me, n)
				if err != nil {
					t.Error(err)
				}
				ids[i] = s.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("several Sessions: %v", ids)
			}
		}
		all, err := r.Sessions(r.ctx, r.me, false)
		check(t, err)
		prompts, err := r.Prompts(r.ctx, r.me, ids[0])
		check(t, err)
		if len(all) != 1 || len(prompts) != 1 {
			t.Errorf("%d Sessions and %d prompts", len(all), len(prompts))
		}
	})
}

func TestMostSessions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		first := r.create(newSession())
		check(t, r.st.Write(r.ctx, func(q store.Q) error {
			for range claudehub.MaxSessions - 1 {
				seq, err := q.NextSeq(r.ctx, r.runner)
				if err != nil {
					return err
				}
				s := store.Session{Session: first, Seq: seq}
				s.ID = claudehub.NewSessionID()
				if err := q.AddSession(r.ctx, s); err != nil {
					return err
				}
			}
			return nil
		}))
		_, err := r.CreateSession(r.ctx, r.me, fleet.NewSession{Runner: r.runner})
		wantCode(t, "one too many", err, claudehub.TooMany)
		_, err = r.Archive(r.ctx, r.me, first.ID)
		check(t, err)
		r.create(newSession())
		_, err = r.Unarchive(r.ctx, r.me, first.ID)
		wantCode(t, "one too many from the archive", err, claudehub.TooMany)
	})
}

func failed() claudehub.Observed {
	return claudehub.Observed{Phase: claudehub.PhaseFailed, Failure: &claudehub.Failure{Step: "x", Reason: "y"}}
}

func TestWhatIsDesired(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		act := func(what string, do func() (claudehub.Session, error), want claudehub.Desired, generation int64) {
			t.Helper()
			got, err := do()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got.Desired != want || got.Generation != generation {
				t.Fatalf("%s: %s, generation %d instead of %d", what, got.Desired, got.Generation, generation)
			}
			stored, err := r.Session(r.ctx, r.me, s.ID)
			check(t, err)
			if diff := cmp.Diff(got, stored); diff != "" {
				t.Fatalf("%s: what was answered is not what is stored %s", what, diff)
			}
		}
		do := func(f func(*rig) (claudehub.Session, error)) func() (claudehub.Session, error) {
			return func() (claudehub.Session, error) { return f(r) }
		}
		wake := do(func(r *rig) (claudehub.Session, error) { return r.Wake(r.ctx, r.me, s.ID) })
		sleep := do(func(r *rig) (claudehub.Session, error) { return r.Sleep(r.ctx, r.me, s.ID) })
		archive := do(func(r *rig) (claudehub.Session, error) { return r.Archive(r.ctx, r.me, s.ID) })
		unarchive := do(func(r *rig) (claudehub.Session, error) { return r.Unarchive(r.ctx, r.me, s.ID) })
		retry := do(func(r *rig) (claudehub.Session, error) { return r.Retry(r.ctx, r.me, s.ID) })
		cancel := do(func(r *rig) (claudehub.Session, error) { return r.CancelStep(r.ctx, r.me, s.ID) })
		anew := do(func(r *rig) (claudehub.Session, error) { return r.NewConversation(r.ctx, r.me, s.ID) })
		refused := func(what string, do func() (claudehub.Session, error)) {
			t.Helper()
			_, err := do()
			wantCode(t, what, err, claudehub.Conflict)
		}

		act("wake what shall be awake", wake, claudehub.WantAwake, 1)
		act("sleep", sleep, claudehub.WantAsleep, 2)
		act("sleep twice", sleep, claudehub.WantAsleep, 2)
		act("wake", wake, claudehub.WantAwake, 3)
		r.observe(s.ID, claudehub.Observed{Phase: claudehub.PhaseAwake, Activity: claudehub.Ready, Generation: 3})
		refused("retry what works", retry)
		refused("cancel when no step runs", cancel)
		refused("a new conversation for no reason", anew)
		o := failed()
		o.Generation = 3
		r.observe(s.ID, o)
		act("retry", retry, claudehub.WantAwake, 4)
		act("retry pressed twice", retry, claudehub.WantAwake, 4)
		o.Generation = 4
		r.observe(s.ID, o)
		act("wake what failed", wake, claudehub.WantAwake, 5)
		o.Generation, o.Failure.Choice = 5, "new_conversation"
		r.observe(s.ID, o)
		act("new conversation", anew, claudehub.WantAwake, 6)
		act("new conversation pressed twice", anew, claudehub.WantAwake, 6)
		r.observe(s.ID, claudehub.Observed{Phase: claudehub.PhaseStarting, Generation: 6})
		act("cancel", cancel, claudehub.WantAsleep, 7)
		act("cancel twice", cancel, claudehub.WantAsleep, 7)
		act("archive", archive, claudehub.WantArchived, 8)
		act("archive twice", archive, claudehub.WantArchived, 8)
		refused("wake from the archive", wake)
		refused("sleep in the archive", sleep)
		refused("cancel in the archive", cancel)
		_, err := r.AddPrompt(r.ctx, r.me, s.ID, "x", "")
		wantCode(t, "prompt in the archive", err, claudehub.Conflict)
		act("unarchive", unarchive, claudehub.WantAsleep, 9)
		act("unarchive twice", unarchive, claudehub.WantAsleep, 9)

		snap, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		if d := snap.Sessions[0]; d.Conversation != 1 || d.Generation != 9 || d.Seq != snap.Seq {
			t.Errorf("the Runner is told %+v at %d", d, snap.Seq)
		}
	})
}

func TestUpdateSession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		title, model, effort, bad := "two", "opus", "high", "huge"
		got, err := r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Title: &title})
		check(t, err)
		if got.Title != "two" || got.Generation != 1 {
			t.Errorf("a title made generation %d of %q", got.Generation, got.Title)
		}
		got, err = r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Model: &model, Effort: &effort})
		check(t, err)
		if got.Model != "opus" || got.Effort != "high" || got.Title != "two" || got.Generation != 2 {
			t.Errorf("the Session is %+v", got)
		}
		before, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		same, err := r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Title: &title, Model: &model})
		check(t, err)
		if diff := cmp.Diff(got, same); diff != "" {
			t.Error("the same again changed something", diff)
		}
		after, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		if before.Seq != after.Seq {
			t.Errorf("the same again took number %d", after.Seq)
		}
		_, err = r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Effort: &bad})
		wantCode(t, "effort", err, claudehub.Invalid)
	})
}

// To a stranger, what is mine looks as if it were not there.
func TestStrangersFindNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		mine := r.create(fleet.NewSession{Prompt: "secret"})
		prompts, err := r.Prompts(r.ctx, r.me, mine.ID)
		check(t, err)
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		title := "theirs"
		for what, do := range map[string]func(claudehub.SessionID) error{
			"Session": func(id claudehub.SessionID) error { _, err := r.Session(r.ctx, r.stranger, id); return err },
			"Watch":   func(id claudehub.SessionID) error { _, err := r.Watch(r.ctx, r.stranger, id); return err },
			"Drive":   func(id claudehub.SessionID) error { _, err := r.Drive(r.ctx, r.stranger, id); return err },
			"Update": func(id claudehub.SessionID) error {
				_, err := r.UpdateSession(r.ctx, r.stranger, id, fleet.SessionUpdate{Title: &title})
				return err
			},
			"Sleep":           func(id claudehub.SessionID) error { _, err := r.Sleep(r.ctx, r.stranger, id); return err },
			"Wake":            func(id claudehub.SessionID) error { _, err := r.Wake(r.ctx, r.stranger, id); return err },
			"Archive":         func(id claudehub.SessionID) error { _, err := r.Archive(r.ctx, r.stranger, id); return err },
			"Unarchive":       func(id claudehub.SessionID) error { _, err := r.Unarchive(r.ctx, r.stranger, id); return err },
			"Retry":           func(id claudehub.SessionID) error { _, err := r.Retry(r.ctx, r.stranger, id); return err },
			"CancelStep":      func(id claudehub.SessionID) error { _, err := r.CancelStep(r.ctx, r.stranger, id); return err },
			"Stop":            func(id claudehub.SessionID) error { _, err := r.Stop(r.ctx, r.stranger, id); return err },
			"NewConversation": func(id claudehub.SessionID) error { _, err := r.NewConversation(r.ctx, r.stranger, id); return err },
			"Prompts":         func(id claudehub.SessionID) error { _, err := r.Prompts(r.ctx, r.stranger, id); return err },
			"AddPrompt":       func(id claudehub.SessionID) error { _, err := r.AddPrompt(r.ctx, r.stranger, id, "x", ""); return err },
			"CancelPrompt": func(id claudehub.SessionID) error {
				_, err := r.CancelPrompt(r.ctx, r.stranger, id, prompts[0].ID)
				return err
			},
			"History":   func(id claudehub.SessionID) error { _, err := r.History(r.ctx, r.stranger, id); return err },
			"SendInput": func(id claudehub.SessionID) error { return r.SendInput(r.ctx, r.stranger, input(id, "x")) },
			"SendResize": func(id claudehub.SessionID) error {
				return r.SendResize(r.ctx, r.stranger, wire.Resize{Session: id, Cols: 80, Rows: 24})
			},
			"OwnsSession": func(id claudehub.SessionID) error { return r.OwnsSession(r.ctx, r.theirs, id) },
		} {
			absent, foreign := do(claudehub.NewSessionID()), do(mine.ID)
			wantCode(t, what, foreign, claudehub.NotFound)
			if fmt.Sprint(absent) != fmt.Sprint(foreign) {
				t.Errorf("%s tells a stranger's from none: %q and %q", what, absent, foreign)
			}
		}
		theirs, err := r.Sessions(r.ctx, r.stranger, false)
		check(t, err)
		if len(theirs) != 0 {
			t.Errorf("the stranger sees %v", theirs)
		}
		// A prompt of one Session is not reached through another.
		other := r.create(newSession())
		_, err = r.CancelPrompt(r.ctx, r.me, other.ID, prompts[0].ID)
		wantCode(t, "another Session's prompt", err, claudehub.NotFound)
		// Nor does a Runner speak of Sessions of another.
		reply, err := r.ObserveStatus(r.ctx, r.theirs, wire.Status{Sessions: []wire.ObservedSession{{ID: mine.ID, Observed: failed()}}})
		check(t, err)
		if diff := cmp.Diff([]claudehub.SessionID{mine.ID}, reply.Gone); diff != "" {
			t.Error(diff)
		}
		_, err = r.StoreEvents(r.ctx, r.theirs, wire.Events{Events: []wire.Event{promptEvent(prompts[0], claudehub.PromptDone),
			{ID: claudehub.NewEventID(), Session: mine.ID, Kind: wire.ReportNotice, Text: "hello"}}})
		check(t, err)
		after, err := r.Session(r.ctx, r.me, mine.ID)
		check(t, err)
		if diff := cmp.Diff(mine, after); diff != "" {
			t.Error("another's Runner changed a Session", diff)
		}
		if got := r.promptState(mine.ID, prompts[0].ID); got != claudehub.PromptQueued {
			t.Errorf("another's Runner made a prompt %s", got)
		}
		history, err := r.History(r.ctx, r.me, mine.ID)
		check(t, err)
		if len(history) != 0 {
			t.Errorf("another's Runner wrote history: %v", history)
		}
	})
}

func TestStop(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		running, delivered, queued := r.prompt(s.ID, "1"), r.prompt(s.ID, "2"), r.prompt(s.ID, "3")
		r.report(promptEvent(running, claudehub.PromptAccepted), promptEvent(delivered, claudehub.PromptDelivered))
		_, err := r.Stop(r.ctx, r.me, s.ID)
		check(t, err)
		later := r.prompt(s.ID, "4")
		for p, want := range map[claudehub.PromptID]claudehub.PromptState{running.ID: claudehub.PromptAccepted,
			delivered.ID: claudehub.PromptCancelled, queued.ID: claudehub.PromptCancelled, later.ID: claudehub.PromptQueued} {
			if got := r.promptState(s.ID, p); got != want {
				t.Errorf("a prompt is %s instead of %s", got, want)
			}
		}
		first, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		r.clock.move(-time.Hour)
		_, err = r.Stop(r.ctx, r.me, s.ID)
		check(t, err)
		second, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		if a, b := first.Sessions[0].StopAt, second.Sessions[0].StopAt; a.IsZero() || !b.After(a) {
			t.Errorf("stop at %v, then at %v", a, b)
		}
	})
}
