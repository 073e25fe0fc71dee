package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// testSession is a Session with a state and a Hub, and no Sandbox.
func testSession(t *testing.T, d wire.DesiredSession) *session {
	t.Helper()
	h := newFakeHub(t)
	state := openTestState(t)
	if d.ID == "" {
		d.ID = claudehub.NewSessionID()
	}
	if d.Creator == "" {
		d.Creator = claudehub.NewPersonID()
	}
	for i := range d.Prompts {
		d.Prompts[i].Author = d.Creator
	}
	if err := state.SaveDesired(t.Context(), 1, []wire.DesiredSession{d}, nil); err != nil {
		t.Fatal(err)
	}
	on := &parts{
		cfg: Config{Dir: t.TempDir()}, state: state, hub: testHub(t, h.URL, h.token), outbox: newSignal(),
		observe: func(claudehub.SessionID) {}, places: newPlaces(1), refused: newRefusals(quiet()),
	}
	return newSession(Record{Desired: d}, on, quiet())
}

func queued(text string) claudehub.Prompt {
	return claudehub.Prompt{ID: claudehub.NewPromptID(), Text: text, State: claudehub.PromptQueued, Expires: now().Add(claudehub.PromptLife)}
}

// reported lists what the Hub will be told of prompts, in order.
func reported(t *testing.T, s *session) []claudehub.PromptState {
	t.Helper()
	events, err := s.on.state.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var states []claudehub.PromptState
	for _, e := range events {
		if e.Kind == wire.ReportPrompt {
			states = append(states, e.State)
		}
	}
	return states
}

func stage(t *testing.T, s *session, id claudehub.PromptID) Stage {
	t.Helper()
	ledger, err := s.on.state.Ledger(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := ledger[id]; ok {
		return e.Stage
	}
	return StageOver
}

func TestPromptIsReceivedOnce(t *testing.T) {
	d := wire.DesiredSession{Prompts: []claudehub.Prompt{queued("a"), queued("b")}}
	s := testSession(t, d)
	for range 3 { // the stream repeats itself after a cut
		s.receivePrompts(t.Context(), s.wanted())
	}
	if got := reported(t, s); len(got) != 2 {
		t.Errorf("reported %v", got)
	}
}

// TestPromptThatIsOverStaysOver: the Hub may name it again, when its answer was lost.
func TestPromptThatIsOverStaysOver(t *testing.T) {
	p := queued("a")
	s := testSession(t, wire.DesiredSession{Prompts: []claudehub.Prompt{p}})
	s.receivePrompts(t.Context(), s.wanted())
	s.advance(t.Context(), Entry{ID: p.ID}, StageOver, claudehub.PromptDone, "")
	s.receivePrompts(t.Context(), s.wanted())
	if _, _, ok := s.nextPrompt(t.Context()); ok {
		t.Error("a prompt that is over is next again")
	}
	if got := reported(t, s); len(got) != 2 || got[1] != claudehub.PromptDone {
		t.Errorf("reported %v", got)
	}
}

// TestKillAtEachStage: what a Runner that starts again does with a prompt, for each stage it may have been killed in.
func TestKillAtEachStage(t *testing.T) {
	for at, want := range map[Stage]struct {
		stage Stage
		last  claudehub.PromptState
	}{
		StageReceived: {StageReceived, claudehub.PromptDelivered},
		StagePasting:  {StageReceived, claudehub.PromptDelivered}, // Enter was never pressed: it may be written again
		StageEntering: {StageOver, claudehub.PromptFailed},        // it may have gone in: never again by itself
		StageAccepted: {StageOver, claudehub.PromptDone},
	} {
		t.Run(string(at), func(t *testing.T) {
			p := queued("a")
			s := testSession(t, wire.DesiredSession{Prompts: []claudehub.Prompt{p}})
			s.receivePrompts(t.Context(), s.wanted())
			s.advance(t.Context(), Entry{ID: p.ID, Life: "old", N: 7}, at, "", "")
			s.settle(t.Context())
			if got := stage(t, s, p.ID); got != want.stage {
				t.Errorf("stage %s, want %s", got, want.stage)
			}
			got := reported(t, s)
			if got[len(got)-1] != want.last {
				t.Errorf("reported %v, want %s last", got, want.last)
			}
		})
	}
}

func TestAcceptedMatchesItsOwnText(t *testing.T) {
	p := queued("line one\nline two\n")
	s := testSession(t, wire.DesiredSession{Prompts: []claudehub.Prompt{p}})
	s.receivePrompts(t.Context(), s.wanted())
	s.accepted(t.Context(), p.Text)
	if got := stage(t, s, p.ID); got != StageReceived {
		t.Errorf("accepted before it was written: %s", got)
	}
	s.advance(t.Context(), Entry{ID: p.ID}, StageEntering, "", "")
	s.accepted(t.Context(), "something a person typed")
	if got := stage(t, s, p.ID); got != StageEntering {
		t.Errorf("another text was taken for it: %s", got)
	}
	s.accepted(t.Context(), "line one\r\nline two")
	if got := stage(t, s, p.ID); got != StageAccepted {
		t.Errorf("its own text was not known: %s", got)
	}
}

func TestExpiredAndCancelledPromptsAreNotNext(t *testing.T) {
	old, gone, good := queued("old"), queued("gone"), queued("good")
	old.Expires = now().Add(-1)
	d := wire.DesiredSession{Prompts: []claudehub.Prompt{old, gone, good}}
	s := testSession(t, d)
	s.receivePrompts(t.Context(), s.wanted())
	d = s.wanted()
	d.Prompts = []claudehub.Prompt{d.Prompts[0], d.Prompts[2]}
	s.want(d)
	s.receivePrompts(t.Context(), d)
	p, _, ok := s.nextPrompt(t.Context())
	if !ok || p.ID != good.ID {
		t.Errorf("next is %v %t", p.Text, ok)
	}
	got := reported(t, s)
	if len(got) != 4 || got[3] != claudehub.PromptExpired {
		t.Errorf("reported %v", got)
	}
}

// TestPromptOfAnotherPersonIsNotReceived: the Hub is not believed when it names another author, and is told so.
func TestPromptOfAnotherPersonIsNotReceived(t *testing.T) {
	p := queued("a")
	s := testSession(t, wire.DesiredSession{})
	d := s.wanted()
	p.Author = claudehub.NewPersonID()
	d.Prompts = []claudehub.Prompt{p}
	s.receivePrompts(t.Context(), d)
	if got := reported(t, s); !slices.Equal(got, []claudehub.PromptState{claudehub.PromptFailed}) {
		t.Errorf("reported %v", got)
	}
	if got := stage(t, s, p.ID); got != StageOver {
		t.Errorf("the prompt is %s", got)
	}
}

func TestCorruptStateSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runner.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenState(t.Context(), dir)
	if err == nil || !strings.Contains(claudehub.MessageOf(err), "Move that file away") {
		t.Errorf("OpenState: %v", err)
	}
}

func TestOneRunnerPerFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
