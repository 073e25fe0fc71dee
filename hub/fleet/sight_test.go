package fleet_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
)

func (r *rig) createOf(repo string) claudehub.Session {
	r.t.Helper()
	return r.create(fleet.NewSession{Source: claudehub.Source{GitURL: "https://git.example/" + repo + ".git"}})
}

func TestEveryoneWhoSeesTheRepo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.createOf("Acme/App")
		ada, bob := r.person("ada"), r.person("bob")
		hers := r.token(ada) + " acme/app"
		r.token(bob)
		r.far.set(func(g *farGitHub) { g.readers[hers] = true })
		want := func(when string, a, b claudehub.Access) {
			t.Helper()
			if got := r.access(ada, s.ID); got != a || len(r.listed(ada, false)) != map[claudehub.Access]int{claudehub.AccessParticipant: 1}[a] {
				t.Errorf("%s ada has %q", when, got)
			}
			if got := r.access(bob, s.ID); got != b {
				t.Errorf("%s bob has %q", when, got)
			}
		}
		none, in := claudehub.AccessNone, claudehub.AccessParticipant
		want("before", none, none)
		shown, err := r.ShareEveryone(r.ctx, r.me, s.ID, true)
		check(t, err)
		if !shown.Shared.Everyone {
			t.Errorf("%+v", shown.Shared)
		}
		want("then", in, none)
		asked := r.far.asked
		want("again", in, none)
		if r.far.asked != asked {
			t.Errorf("GitHub was asked %d times more within ten minutes", r.far.asked-asked)
		}
		if got := r.access(r.stranger, s.ID); got != none {
			t.Errorf("one without a GitHub token has %q", got)
		}
		// GitHub takes it away: within ten minutes it counts.
		r.far.set(func(g *farGitHub) { delete(g.readers, hers) })
		want("at once", in, none)
		r.clock.move(11 * time.Minute)
		want("later", none, none)
		r.far.set(func(g *farGitHub) { g.readers[hers] = true })
		r.clock.move(11 * time.Minute)
		want("back", in, none)
		// An outage changes nothing for a day.
		r.far.set(func(g *farGitHub) { g.away = true })
		for range 23 {
			r.clock.move(time.Hour)
			want("in the outage", in, none)
		}
		r.clock.move(2 * time.Hour)
		want("after a day of it", none, none)
		r.far.set(func(g *farGitHub) { g.away = false })
		r.clock.move(time.Minute)
		want("GitHub is back", in, none)
		shown, err = r.ShareEveryone(r.ctx, r.me, s.ID, false)
		check(t, err)
		want("in the end", none, none)
		if shown.Shared.Everyone {
			t.Errorf("%+v", shown.Shared)
		}
	})
}

// A token that is over says nothing about what its person sees.
func TestSightWithAnEndedToken(t *testing.T) {
	r := newRig(t, openSQLite(t))
	s := r.createOf("acme/app")
	ada := r.person("ada")
	token, err := github.ParseToken([]byte(`{"access":"x","expires":"2026-11-01T05:00:00Z"}`))
	check(t, err)
	check(t, r.KeepToken(r.ctx, ada, token))
	r.far.set(func(g *farGitHub) { g.readers[string(token.Reveal())+" acme/app"] = true })
	_, err = r.ShareEveryone(r.ctx, r.me, s.ID, true)
	check(t, err)
	if got := r.access(ada, s.ID); got != claudehub.AccessParticipant {
		t.Fatalf("ada has %q", got)
	}
	asked := r.far.asked
	r.clock.move(3 * time.Hour)
	if got := r.access(ada, s.ID); got != claudehub.AccessParticipant || r.far.asked != asked {
		t.Errorf("ada has %q; asked %d", got, r.far.asked-asked)
	}
}

func TestEveryoneNeedsARepo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, url := range []string{"", "https://elsewhere.example/acme/app", "https://git.example/acme", "https://git.example/acme/app/more", "https://git.example:8443/acme/app"} {
			s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: url}})
			_, err := r.ShareEveryone(r.ctx, r.me, s.ID, true)
			wantCode(t, url, err, claudehub.Invalid)
		}
		for _, url := range []string{"https://git.example/acme/app", "git@git.example:acme/app.git", "ssh://git@git.example/acme/app/", "https://x@GIT.example/acme/app"} {
			s := r.create(fleet.NewSession{Source: claudehub.Source{GitURL: url}})
			_, err := r.ShareEveryone(r.ctx, r.me, s.ID, true)
			check(t, err)
		}
		local := fleet.New(r.st, r.bus, nil, fleet.Options{})
		s := r.createOf("acme/app")
		_, err := local.ShareEveryone(r.ctx, r.me, s.ID, true)
		wantCode(t, "without GitHub", err, claudehub.Invalid)
	})
}

// Many who look at the same time make one question of each that they have.
func TestSightIsAskedOnce(t *testing.T) {
	r := newRig(t, openSQLite(t))
	ada := r.person("ada")
	r.token(ada)
	for i := range 30 {
		_, err := r.ShareEveryone(r.ctx, r.me, r.createOf(fmt.Sprint("acme/app", i)).ID, true)
		check(t, err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, err := r.Sessions(r.ctx, ada, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r.far.asked < 30 || r.far.asked > 60 {
		t.Errorf("GitHub was asked %d times about 30 repositories", r.far.asked)
	}
	// An outage is not waited for again and again.
	r.far.set(func(g *farGitHub) { g.away, g.asked = true, 0 })
	r.clock.move(time.Hour)
	for range 5 {
		r.listed(ada, false)
	}
	if r.far.asked != 30 {
		t.Errorf("in an outage GitHub was asked %d times about 30 repositories", r.far.asked)
	}
}
