package runner

import (
	"context"
	"net/http"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func postNotices(t *testing.T, s *State, n int) []claudehub.EventID {
	t.Helper()
	ids := make([]claudehub.EventID, n)
	for i := range ids {
		ids[i] = claudehub.NewEventID()
		e := wire.Event{ID: ids[i], Session: claudehub.NewSessionID(), Kind: wire.ReportNotice, At: now(), Text: "test"}
		if err := s.Post(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestOutboxSurvivesABadHub: the Hub is out of order at first, then its answers are lost on the way. Each event ends up
// there once, in order, and the outbox ends up empty.
func TestOutboxSurvivesABadHub(t *testing.T) {
	h := newFakeHub(t)
	h.lose = 3
	h.refuse = http.StatusServiceUnavailable
	state := openTestState(t)
	ids := postNotices(t, state, 2*wire.MaxEvents+17)
	box := &outboxLoop{state: state, hub: testHub(t, h.URL, h.token), wake: newSignal(), pause: newPause(), log: quiet()}
	if _, err := box.sendBatch(t.Context()); err == nil {
		t.Fatal("a Hub that is out of order took events")
	}
	h.mu.Lock()
	h.refuse = 0
	h.mu.Unlock()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- box.Run(ctx) }()
	h.told(t, "all events", func() bool { return len(h.order) == len(ids) && h.lose == 0 })
	for {
		left, err := state.Waiting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for i, id := range h.order {
		if id != ids[i] {
			t.Fatalf("event %d came out of order", i)
		}
	}
}

// TestOutboxSurvivesAKill: what was posted is there for the next process.
func TestOutboxSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	state, err := OpenState(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := postNotices(t, state, 3)
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err = OpenState(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	left, err := state.Waiting(t.Context())
	if err != nil || len(left) != len(ids) || left[0].ID != ids[0] {
		t.Errorf("after a restart: %d events, %v", len(left), err)
	}
}

// TestOneSessionPushesOutNoOther: a Session that reports without end loses its own oldest reports, and no prompt's.
func TestOneSessionPushesOutNoOther(t *testing.T) {
	state := openTestState(t)
	quiet, loud := claudehub.NewSessionID(), claudehub.NewSessionID()
	post := func(id claudehub.SessionID, kind wire.EventKind, at int) {
		t.Helper()
		must(t, state.Post(t.Context(), wire.Event{ID: claudehub.NewEventID(), Session: id, Kind: kind, At: time.Unix(int64(at), 0).UTC()}))
	}
	post(quiet, wire.ReportTurn, 0)
	post(loud, wire.ReportPrompt, 0)
	for i := range maxOfSession + 10 {
		post(loud, wire.ReportTurn, i)
	}
	var left []struct {
		Session claudehub.SessionID
		Kind    wire.EventKind
		N       int
	}
	must(t, state.db.SelectContext(t.Context(), &left, "SELECT session, kind, count(*) AS n FROM outbox GROUP BY session, kind ORDER BY n"))
	if len(left) != 3 || left[0].N != 1 || left[1].N != 1 || left[2].N != maxOfSession || left[2].Session != loud {
		t.Errorf("left: %+v", left)
	}
	waiting, err := state.Waiting(t.Context())
	must(t, err)
	if waiting[2].At.Unix() != 10 {
		t.Errorf("the oldest of the loud one is %d", waiting[2].At.Unix())
	}
}
