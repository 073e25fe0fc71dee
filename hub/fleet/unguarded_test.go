//go:build unguarded

package fleet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Without the Hub's own check, what a Participant types reaches the Runner, with its author: there it has to be refused.
// What is shared with nobody stays out of reach, and sharing stays the Creator's.
func TestUnguardedLetsParticipantsType(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s, hidden := r.create(newSession()), r.create(newSession())
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		heard := r.listen("one")
		r.share(s.ID, "stranger")
		check(t, r.SendInput(r.ctx, r.stranger, input(s.ID, "x")))
		var in wire.Input
		check(t, json.Unmarshal([]byte(hear(t, heard, wire.EventInput)), &in))
		p, err := r.AddPrompt(r.ctx, r.stranger, s.ID, "hello", "")
		check(t, err)
		if in.Author != r.stranger || p.Author != r.stranger || r.desiredOf(s.ID).Prompts[0].Author != r.stranger {
			t.Errorf("the Runner is told of %q and %q", in.Author, p.Author)
		}
		if by := r.desiredOf(s.ID).By; by != r.me {
			t.Errorf("a prompt is no change of what is desired, but the Runner is told of %q", by)
		}
		_, err = r.Sleep(r.ctx, r.stranger, s.ID)
		check(t, err)
		if by := r.desiredOf(s.ID).By; by != r.stranger {
			t.Errorf("the Runner is told that %q desires a sleep", by)
		}
		_, err = r.Wake(r.ctx, r.me, s.ID)
		check(t, err)
		if by := r.desiredOf(s.ID).By; by != r.me {
			t.Errorf("the Runner is told that %q desires a wake", by)
		}
		wantCode(t, "a stranger's", r.SendInput(r.ctx, r.stranger, input(hidden.ID, "x")), claudehub.NotFound)
		_, err = r.Share(r.ctx, r.stranger, s.ID, "local")
		wantCode(t, "share", err, claudehub.Forbidden)
		stop := runs(t, r.Fleet)
		stop()
		if !strings.Contains(r.log.String(), "NOT GUARDED") {
			t.Error("the Hub does not say so")
		}
	})
}
