package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestRest: quick looks keep their pace, slow ones leave nine tenths of the time, and none leads to a long silence.
func TestRest(t *testing.T) {
	for _, c := range []struct{ pause, took, want time.Duration }{
		{lookSoon, 2 * time.Millisecond, lookSoon},
		{lookSoon, 100 * time.Millisecond, 900 * time.Millisecond},
		{lookSoon, time.Minute, lookSeldom},
		{lookSeldom, time.Second, lookSeldom},
	} {
		if got := rest(c.pause, c.took, lookSeldom); got != c.want {
			t.Errorf("%v after %v: %v, expected %v", c.pause, c.took, got, c.want)
		}
	}
}

// TestTurnOver: the screen ends a Turn that a person stopped, as Claude does not report that; of any other end, and while the
// screen is behind the reports, the report is waited for.
func TestTurnOver(t *testing.T) {
	const ms = time.Millisecond
	stopped, idle, restored := claude.Screen{Stopped: true, InputEmpty: true}, claude.Screen{InputEmpty: true}, claude.Screen{Input: "ask "}
	for name, c := range map[string]struct {
		screen      claude.Screen
		worked      bool
		quiet, turn time.Duration
		prompting   time.Duration
		over        bool
	}{
		"stopped":                                {stopped, true, 1200 * ms, time.Minute, 0, true},
		"stopped, and the screen moves":          {stopped, true, 300 * ms, time.Minute, 0, false},
		"back in the box":                        {restored, true, 1200 * ms, time.Minute, 0, true},
		"not out of the box yet":                 {restored, false, 5 * time.Second, 5 * time.Second, 5 * time.Second, false},
		"another's end still stands there":       {stopped, false, 5 * time.Second, 5 * time.Second, 5 * time.Second, false},
		"ended, and the report is on its way":    {idle, true, 10 * time.Second, time.Minute, 10 * time.Second, false},
		"the report is lost":                     {idle, true, 2 * time.Second, time.Minute, 31 * time.Second, true},
		"not begun on the screen":                {idle, false, time.Hour, 10 * time.Second, 10 * time.Second, false},
		"never seen to begin":                    {idle, false, time.Hour, 31 * time.Second, 31 * time.Second, true},
		"begun under a Runner before, and ended": {idle, false, 31 * time.Second, time.Hour, 31 * time.Second, true},
		"between Turns":                          {idle, false, 1200 * ms, 0, 0, true},
	} {
		w := &tending{seat: &seat{}, act: activity{is: claudehub.Busy, worked: c.worked, prompt: "ask"}}
		if c.turn > 0 {
			w.act.turn = time.Now().Add(-c.turn)
			w.act.prompting = time.Now().Add(-c.prompting)
		}
		w.seat.output.Store(time.Now().Add(-c.quiet).UnixNano())
		if got := w.over(c.screen); got != c.over {
			t.Errorf("%s: over %v", name, got)
		}
	}
}

// TestSleepWaitsForTheAnswer: Claude is not ended before the answer of a Turn whose end it reported is written down, however
// late that is.
func TestSleepWaitsForTheAnswer(t *testing.T) {
	s := testSession(t, wire.DesiredSession{})
	id := claudehub.NewClaudeID()
	must(t, s.learn(t.Context(), func(l *Local) { l.ClaudeID = id }))
	path := filepath.Join(s.volume("config"), "projects", "-workspace", id+".jsonl")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	const before = `{"type":"user"}` + "\n" + `{"type":"assistant"}` + "\n"
	must(t, os.WriteFile(path, []byte(before), 0o600))
	s.turnBegan()
	s.turnEndedAt, s.turnTold = time.Now().Add(-2*flushTime), true
	written := make(chan error, 1)
	time.AfterFunc(4*flushLook, func() { written <- os.WriteFile(path, []byte(before+before), 0o600) })
	s.awaitWritten(t.Context())
	select {
	case err := <-written:
		must(t, err)
	default:
		t.Error("it did not wait")
	}
}
