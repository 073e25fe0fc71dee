package runner

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestNoWishIsLost: a wish that comes as work begins ends that work, or the work is for it.
func TestNoWishIsLost(t *testing.T) {
	s := testSession(t, wire.DesiredSession{Desired: claudehub.WantAwake})
	for n := range 50_000 {
		was, now := claudehub.WantAwake, claudehub.WantAsleep
		if n%2 == 1 {
			was, now = now, was
		}
		var both sync.WaitGroup
		both.Go(func() {
			d := s.wanted()
			d.Desired = now
			s.want(d)
		})
		d, work, give := s.begin(t.Context())
		both.Wait()
		if d.Desired == was && work.Err() == nil {
			t.Fatalf("round %d: work for %q goes on, with %q wanted", n, was, now)
		}
		give()
	}
}

// TestWorkIsNotWiped: with the Runner's memory lost, nothing says that the workspace was cloned. It holds work all the
// same.
func TestWorkIsNotWiped(t *testing.T) {
	d := wire.DesiredSession{Source: claudehub.Source{GitURL: "https://git.example.org/a/b"}}
	s := testSession(t, d)
	work := filepath.Join(s.volume("workspace"), "work.txt")
	if err := os.MkdirAll(s.volume("workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(work, []byte("a week of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.cloneSource(t.Context(), d.Source); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(work); err != nil || string(b) != "a week of it" {
		t.Errorf("the work is gone: %q, %v", b, err)
	}
	if !s.facts().Cloned {
		t.Error("the workspace does not count as whole")
	}
}

// TestCutCloneIsBegunAgain: what a clone left behind is told from work.
func TestCutCloneIsBegunAgain(t *testing.T) {
	s := testSession(t, wire.DesiredSession{})
	if err := os.MkdirAll(s.volume("workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if begun, err := s.beginClone(); err != nil || !begun {
			t.Fatalf("round %d: %t, %v", round, begun, err)
		}
		if err := os.WriteFile(filepath.Join(s.volume("workspace"), "half"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTurnOutlivesTheRunner: a Turn that ran when a Runner ended is a Turn to the next one, which closes it.
func TestTurnOutlivesTheRunner(t *testing.T) {
	p := queued("a")
	for name, o := range map[string]claudehub.Observed{
		"seen busy":       {Phase: claudehub.PhaseAwake, Activity: claudehub.Busy, Since: now()},
		"not yet seen so": {Phase: claudehub.PhaseAwake, Activity: claudehub.Ready, Since: now()},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSession(t, wire.DesiredSession{Prompts: []claudehub.Prompt{p}})
			s.receivePrompts(t.Context(), s.wanted())
			s.advance(t.Context(), Entry{ID: p.ID}, StageAccepted, claudehub.PromptAccepted, "")
			s.see(t.Context(), func(old *claudehub.Observed) { *old = o })
			act := s.lastActivity(t.Context())
			if act.is != claudehub.Busy || act.turn.IsZero() {
				t.Errorf("taken up as %+v", act)
			}
		})
	}
	s := testSession(t, wire.DesiredSession{})
	if act := s.lastActivity(t.Context()); act.is != claudehub.Unknown || !act.turn.IsZero() {
		t.Errorf("a new Session is taken up as %+v", act)
	}
}

// TestLostMemorySendsNothingAgain: the Hub names a prompt that it was told about by this Runner, which knows nothing
// of it. It may have been sent.
func TestLostMemorySendsNothingAgain(t *testing.T) {
	for _, state := range []claudehub.PromptState{claudehub.PromptDelivered, claudehub.PromptAccepted} {
		p := queued("a")
		p.State = state
		s := testSession(t, wire.DesiredSession{Prompts: []claudehub.Prompt{p}})
		for range 2 {
			s.receivePrompts(t.Context(), s.wanted())
		}
		if _, _, ok := s.nextPrompt(t.Context()); ok {
			t.Errorf("%s: it is next to be sent", state)
		}
		if got := reported(t, s); len(got) != 1 || got[0] != claudehub.PromptFailed {
			t.Errorf("%s: reported %v", state, got)
		}
	}
}

// TestGoneStaysGone: a Session without a row at the Hub does not wake when the Runner starts again.
func TestGoneStaysGone(t *testing.T) {
	h := newFakeHub(t)
	state := openTestState(t)
	id := claudehub.NewSessionID()
	if err := state.SaveDesired(t.Context(), 1, []wire.DesiredSession{{ID: id, Desired: claudehub.WantAwake}}, nil); err != nil {
		t.Fatal(err)
	}
	r := New(Config{Dir: t.TempDir(), Backend: nowhere{}, Builder: testBuilder(t)}, state, testHub(t, h.URL, h.token), quiet())
	records, err := state.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.open(records[0])
	r.gone(t.Context(), id)
	records, err = state.Records(t.Context())
	if err != nil || records[0].Desired.Desired != claudehub.WantAsleep {
		t.Errorf("remembered as %q, %v", records[0].Desired.Desired, err)
	}
}

// TestStopComesBeforeTheNextPrompt: nothing is written to Claude while a Stop waits, or its Turn would be what is stopped.
func TestStopComesBeforeTheNextPrompt(t *testing.T) {
	p := queued("after the Stop")
	s := testSession(t, wire.DesiredSession{StopAt: now(), Prompts: []claudehub.Prompt{p}})
	s.receivePrompts(t.Context(), s.wanted())
	s.deliver(t.Context(), &seat{}, true) // it has no terminal: whoever writes to it panics
	if got := stage(t, s, p.ID); got != StageReceived {
		t.Errorf("the prompt is %s", got)
	}
}

func TestPauseEndsWhenTheLinkIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPause()
		for range 10 {
			p.sleep(t.Context())
		}
		began := time.Now()
		go p.hurry()
		p.sleep(t.Context())
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s", waited)
		}
	})
}

// TestConversationThatWasNeverWritten: Claude ended before it wrote a message. Its file can neither be resumed nor begun
// anew; it is set aside, a copy that has more takes its place, and one that has no more does not.
func TestConversationThatWasNeverWritten(t *testing.T) {
	own := `{"type":"mode","mode":"normal"}` + "\n"
	said := own + `{"type":"user","message":{}}` + "\n"
	for name, c := range map[string]struct {
		file, copied string
		resume       bool
	}{
		"written":                {said, "", true},
		"unwritten":              {own, "", false},
		"unwritten, copy too":    {own, own, false},
		"unwritten, copy fuller": {own, said, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSession(t, wire.DesiredSession{})
			id := claudehub.NewClaudeID()
			if err := s.learn(t.Context(), func(l *Local) { l.ClaudeID, l.Talked = id, true }); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.volume("config"), "projects", "-workspace", id+".jsonl")
			for file, content := range map[string]string{path: c.file, filepath.Join(s.volume("backup"), id+".jsonl"): c.copied} {
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if content == "" {
					continue
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			resume, err := s.conversation(t.Context(), s.wanted())
			if err != nil || resume != c.resume {
				t.Errorf("resume %t, %v", resume, err)
			}
			if _, err := os.Stat(path); (err == nil) != c.resume {
				t.Errorf("the file in the way: %v", err)
			}
		})
	}
}
