package runner

import (
	"testing"
	"time"
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

// TestRested: a screen that rests says that Claude is idle, but not so soon in a slow Sandbox, and not of a Turn that was
// heard of only now.
func TestRested(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		look, quiet, turn time.Duration
		idle              bool
	}{
		"idle":                         {look: 5 * ms, quiet: 1200 * ms, turn: time.Minute, idle: true},
		"at work":                      {look: 5 * ms, quiet: 300 * ms, turn: time.Minute},
		"begins, and was long at rest": {look: 5 * ms, quiet: time.Hour, turn: 300 * ms},
		"slow":                         {look: 500 * ms, quiet: 8 * time.Second, turn: time.Minute},
		"slow and idle":                {look: 500 * ms, quiet: 12 * time.Second, turn: time.Minute, idle: true},
		"one look that hung":           {look: 15 * time.Second, quiet: 30 * time.Second, turn: time.Minute, idle: true},
		"a Turn of a Runner before":    {look: 5 * ms, quiet: 1200 * ms, turn: 1 << 62, idle: true},
	} {
		seat := &seat{}
		seat.output.Store(time.Now().Add(-c.quiet).UnixNano())
		w := &tending{s: &session{lookTook: c.look}, seat: seat, turn: time.Now().Add(-c.turn)}
		if got := w.rested() > w.s.slowly(quietTime); got != c.idle {
			t.Errorf("%s: idle %v", name, got)
		}
	}
}
