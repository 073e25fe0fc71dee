package runner

import (
	"testing"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
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
		over        bool
	}{
		"stopped":                                {stopped, true, 1200 * ms, time.Minute, true},
		"stopped, and the screen moves":          {stopped, true, 300 * ms, time.Minute, false},
		"back in the box":                        {restored, true, 1200 * ms, time.Minute, true},
		"not out of the box yet":                 {restored, false, 5 * time.Second, 5 * time.Second, false},
		"another's end still stands there":       {stopped, false, 5 * time.Second, 5 * time.Second, false},
		"ended, and the report is on its way":    {idle, true, 10 * time.Second, time.Minute, false},
		"the report is lost":                     {idle, true, 31 * time.Second, time.Minute, true},
		"not begun on the screen":                {idle, false, time.Hour, 10 * time.Second, false},
		"never seen to begin":                    {idle, false, time.Hour, 31 * time.Second, true},
		"begun under a Runner before, and ended": {idle, false, 31 * time.Second, 1 << 62, true},
	} {
		w := &tending{seat: &seat{}, worked: c.worked, turn: time.Now().Add(-c.turn), act: activity{is: claudehub.Busy, turn: time.Now(), prompt: "ask"}}
		w.seat.output.Store(time.Now().Add(-c.quiet).UnixNano())
		if got := w.over(c.screen); got != c.over {
			t.Errorf("%s: over %v", name, got)
		}
	}
}
