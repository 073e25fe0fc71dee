//go:build linux

package runner

import (
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestNoticeIsOfOneWakingTime: it stands while the Session sleeps, and the next wake begins without it, or tells it anew.
func TestNoticeIsOfOneWakingTime(t *testing.T) {
	c := newComputer(t)
	c.hub.machine.variables = []wire.Variable{{Name: "PATH", Value: "/theirs"}}
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables = "1" })
	first := c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if first.Notice == "" || first.Noticed.IsZero() {
		t.Fatalf("the notice is %q, of %v", first.Notice, first.Noticed)
	}
	sleep := func() claudehub.Observed {
		c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
		return c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	}
	wake := func() claudehub.Observed {
		c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAwake })
		return c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	}
	if o := sleep(); o.Notice != first.Notice || !o.Noticed.Equal(first.Noticed) {
		t.Errorf("asleep it is %q, of %v", o.Notice, o.Noticed)
	}
	if o := wake(); o.Notice != first.Notice || !o.Noticed.After(first.Noticed) {
		t.Errorf("still true, it is %q, of %v; the first of %v", o.Notice, o.Noticed, first.Noticed)
	}
	sleep()
	c.hub.mu.Lock()
	c.hub.machine.variables[0].Name = "FINE"
	c.hub.mu.Unlock()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Variables = "2" })
	if o := wake(); o.Notice != "" || !o.Noticed.IsZero() {
		t.Errorf("no longer true, it is %q, of %v", o.Notice, o.Noticed)
	}
}
