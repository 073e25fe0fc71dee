//go:build linux

package runner

import (
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestAnotherCreatorIsNeverAccepted: a Hub that names somebody else is refused with all that it says of the Session so,
// also by the next Runner process; the Creator it was drives on.
func TestAnotherCreatorIsNeverAccepted(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	creator, thief := c.hub.wishes[id].Creator, claudehub.NewPersonID()
	// As a change, and in the snapshot of a new stream.
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Creator, d.Desired = thief, claudehub.WantAsleep })
	until(t, "it was refused", func() bool { return strings.Count(c.log.text(), "another Creator") == 1 })
	c.kill()
	c.start()
	until(t, "it was refused again", func() bool { return strings.Count(c.log.text(), "another Creator") == 2 })
	c.hub.told(t, "the stream", func() bool { return len(c.hub.streams) > 0 })
	// The screen may come before the new process takes input; the answer to what it has taken so far does not.
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true, Terminal: "creator"})
	c.hub.reportOf(t, "creator", 0)
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	for terminal, author := range map[string]claudehub.PersonID{"thief": thief, "creator": creator} {
		c.hub.say(wire.EventInput, wire.Input{
			Session: id, Author: author, Terminal: terminal, Life: life, N: 1, Kind: wire.InputKeys, Data: []byte("touch /workspace/" + terminal + "\r"),
		})
		want := wire.InputApplied
		if author == thief {
			want = wire.InputRefused
		}
		if r := c.hub.reportOf(t, terminal, 1); r.State != want {
			t.Errorf("%s: %+v", terminal, r)
		}
	}
	until(t, "the Creator's command ran", func() bool { return c.run(id, "ls /workspace") != "" })
	if got := c.run(id, "ls /workspace"); got != "creator" {
		t.Errorf("typed: %q", got)
	}
	records, err := c.state.Records(t.Context())
	if err != nil || len(records) != 1 || records[0].Desired.Creator != creator {
		t.Errorf("remembered: %+v, %v", records, err)
	}
}

// TestWhatAnotherDesiresIsNotTaken: a Hub that passes on somebody else's wish for a Session is refused, until the Creator's
// own comes.
func TestWhatAnotherDesiresIsNotTaken(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.By = d.Creator })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.wish(id, func(d *wire.DesiredSession) {
		d.By, d.Desired, d.Generation = claudehub.NewPersonID(), claudehub.WantAsleep, d.Generation+1
	})
	until(t, "it was refused", func() bool { return strings.Contains(c.log.text(), "another than the Creator desires") })
	records, err := c.state.Records(t.Context())
	if err != nil || len(records) != 1 || records[0].Desired.Desired != claudehub.WantAwake {
		t.Errorf("remembered: %+v, %v", records, err)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.By, d.Generation = d.Creator, d.Generation+1 })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
}
