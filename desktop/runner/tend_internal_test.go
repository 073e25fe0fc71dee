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
