package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// nextOf passes over changes until one that fits.
func nextOf(t *testing.T, c <-chan fleet.Change, fits func(fleet.Change) bool) fleet.Change {
	t.Helper()
	for {
		if ch := nextChange(t, c); fits(ch) {
			return ch
		}
	}
}

func ofSession(id claudehub.SessionID) func(fleet.Change) bool {
	return func(ch fleet.Change) bool { return ch.Session != nil && ch.Session.ID == id }
}

// A page hears of what is shared with its person from the moment on at which it is, and of nothing after that.
func TestChangesReachParticipants(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(r.ctx)
		hidden, s := r.create(newSession()), r.create(fleet.NewSession{Title: "the title"})
		ada := r.person("ada")
		r.share(hidden.ID, "ada")
		theirs, done := r.watch(ctx, r.stranger)
		mine, mineDone := r.watch(ctx, r.me)
		r.prompt(s.ID, "before it is shared")

		r.share(s.ID, "stranger")
		got := nextChange(t, theirs)
		if got.Session == nil || got.Session.ID != s.ID || got.Session.Access != claudehub.AccessParticipant {
			t.Fatalf("%+v", got)
		}
		if got := nextOf(t, mine, ofSession(s.ID)); got.Session.Access != claudehub.AccessCreator {
			t.Errorf("the Creator hears %+v", got.Session)
		}
		p := r.prompt(s.ID, "hello")
		if got := nextChange(t, theirs); got.Prompt == nil || got.Prompt.ID != p.ID {
			t.Errorf("%+v", got)
		}
		if got := nextChange(t, theirs); got.Session == nil || len(got.Session.Shared.People) > 0 {
			t.Errorf("%+v", got.Session)
		}
		sug := r.suggest(r.stranger, s.ID, "an idea")
		if got := nextChange(t, theirs); got.Suggestion == nil || got.Suggestion.ID != sug.ID {
			t.Errorf("%+v", got)
		}
		if got := nextOf(t, mine, func(ch fleet.Change) bool { return ch.Suggestion != nil }); got.Suggestion.Author.Login != "stranger" {
			t.Errorf("the Creator hears %+v", got.Suggestion)
		}
		leave := r.Enter(r.ctx, r.face(r.me, "local"), s.ID)
		if got := nextChange(t, theirs); got.Presence == nil || logins(got.Presence.Watchers) != "local " {
			t.Errorf("%+v", got)
		}
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		if got := nextChange(t, theirs); got.Runner != nil || got.Link == nil || got.Link.Name != "laptop" || got.Link.Link.State != claudehub.LinkUp {
			t.Errorf("%+v", got)
		}
		// It is taken away: the page drops it, and hears no more of it.
		_, err := r.Unshare(r.ctx, r.me, s.ID, r.stranger)
		check(t, err)
		got = nextChange(t, theirs)
		if got.Session == nil || got.Session.ID != s.ID || got.Session.Observed.Phase != claudehub.PhaseDeleted {
			t.Fatalf("%+v", got)
		}
		dropped := got.Session.Updated // a page keeps the newest
		b, err := json.Marshal(got.Session)
		check(t, err)
		for _, told := range []string{"the title", string(r.me), string(r.runner), "local", "laptop"} {
			if strings.Contains(string(b), told) {
				t.Errorf("what is gone tells %q: %s", told, b)
			}
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("a list is null: %s", b)
		}
		r.prompt(s.ID, "secret")
		leave()
		check(t, r.ReleaseLease(r.ctx, r.runner, "one"))
		_, _, err = r.AcceptSuggestion(r.ctx, r.me, sug.ID, nil)
		check(t, err)
		r.share(s.ID, "ada")
		// Shared again, it is there again.
		r.share(s.ID, "stranger")
		got = nextChange(t, theirs)
		if got.Session == nil || got.Session.Title != "the title" || got.Session.Updated.Before(dropped) {
			t.Errorf("%+v", got)
		}
		// Its end reaches who watches as it does its Creator.
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Delete(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.ObserveStatus(r.ctx, r.runner, wire.Status{Sessions: []wire.ObservedSession{{ID: s.ID, Observed: claudehub.Observed{Phase: claudehub.PhaseDeleted}}}})
		check(t, err)
		got = nextOf(t, theirs, func(ch fleet.Change) bool {
			return ch.Session != nil && ch.Session.Observed.Phase == claudehub.PhaseDeleted
		})
		if got.Session.Title != "" {
			t.Errorf("%+v", got.Session)
		}
		if got := nextOf(t, mine, func(ch fleet.Change) bool {
			return ch.Session != nil && ch.Session.Observed.Phase == claudehub.PhaseDeleted
		}); got.Session.Title == "" {
			t.Errorf("%+v", got.Session)
		}
		if got := r.access(ada, hidden.ID); got != claudehub.AccessParticipant {
			t.Errorf("ada has %q", got)
		}
		cancel()
		check(t, <-done)
		check(t, <-mineDone)
	})
}

// Sharing with everyone, and the end of a link, reach every page that they concern.
func TestChangesReachEveryone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(r.ctx)
		s := r.createOf("acme/app")
		ada, bob, eve := r.person("ada"), r.person("bob"), r.person("eve")
		hers := r.token(ada) + " acme/app"
		r.token(eve)
		r.far.set(func(g *farGitHub) { g.readers[hers] = true })
		_, err := r.ShareEveryone(r.ctx, r.me, s.ID, true)
		check(t, err)
		link, _, err := r.CreateLink(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Join(r.ctx, bob, link)
		check(t, err)
		as, asDone := r.watch(ctx, ada)
		bs, bsDone := r.watch(ctx, bob)
		es, esDone := r.watch(ctx, eve)

		r.prompt(s.ID, "x") // known to both from the beginning of their streams
		nextOf(t, as, ofSession(s.ID))
		nextOf(t, bs, ofSession(s.ID))
		_, err = r.ShareEveryone(r.ctx, r.me, s.ID, false)
		check(t, err)
		gone := func(ch fleet.Change) bool {
			return ch.Session != nil && ch.Session.Observed.Phase == claudehub.PhaseDeleted
		}
		nextOf(t, as, gone)
		_, err = r.ShareEveryone(r.ctx, r.me, s.ID, true)
		check(t, err)
		nextOf(t, as, func(ch fleet.Change) bool {
			return ofSession(s.ID)(ch) && ch.Session.Access == claudehub.AccessParticipant
		})
		_, err = r.RevokeLink(r.ctx, r.me, s.ID)
		check(t, err)
		nextOf(t, bs, gone)
		// GitHub's word changes: the next that is to be told of the Session tells that it is gone.
		r.far.set(func(g *farGitHub) { delete(g.readers, hers) })
		r.clock.move(11 * time.Minute)
		r.prompt(s.ID, "y")
		nextOf(t, as, gone)
		cancel()
		check(t, <-asDone)
		check(t, <-bsDone)
		check(t, <-esDone)
		if len(es) > 0 {
			t.Errorf("one who sees nothing hears %+v", <-es)
		}
	})
}
