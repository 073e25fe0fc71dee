package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

// asked counts the questions about people that GitHub was asked.
func (w *town) asked() int { return w.calls(standin.User) }

func (w *town) calls(endpoint string) (n int) {
	for _, q := range w.far.Log().Requests {
		if q.Endpoint == endpoint {
			n++
		}
	}
	return n
}

func (w *town) leaveOrg(id int64) {
	w.t.Helper()
	check(w.t, w.far.SetMember("acme", id, ""))
}

func TestRemovedFromTheOrganisation(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, cookie := w.signInAs("ada")
		_, bobs := w.signInAs("bob")
		_, token, err := w.CreateAPIToken(w.ctx, ada.ID, "ci", reading, time.Time{})
		check(t, err)
		box, runner, err := w.AddRunner(w.ctx, ada.ID, "box")
		check(t, err)
		w.runner = box.ID
		heard := w.listen("one-instance")
		check(t, w.AcquireLease(w.ctx, box.ID, "one-instance", "mac", false))
		told := make(chan struct{}, 10)
		stop, err := w.Revocations(ada.ID, func() { told <- struct{}{} })
		check(t, err)
		defer stop()

		w.leaveOrg(1001)
		check(t, w.recheck())
		if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
			t.Errorf("asked before the interval is over: %v", err)
		}
		w.clock.move(15 * time.Minute)
		check(t, w.recheck())
		<-told
		hear(t, heard, fleet.Revoked)
		_, _, err = w.Authenticate(w.ctx, cookie)
		wantCode(t, "her browser", err, claudehub.Unauthenticated)
		_, _, err = w.AuthenticateToken(w.ctx, token)
		wantCode(t, "her token", err, claudehub.Unauthenticated)
		w.opens("her Runner", runner, false)
		if _, _, err := w.Authenticate(w.ctx, bobs); err != nil {
			t.Errorf("bob too: %v", err)
		}
		if p := w.person(ada.ID); p.Removed.IsZero() {
			t.Error("she is not removed")
		}
		if all, err := w.Runners(w.ctx, ada.ID); err != nil || len(all) != 1 || !all[0].Revoked.IsZero() {
			t.Errorf("her Runners are %+v, %v", all, err)
		}
		if got := w.wantNotes("person.remove", 1)[0]; got.Kind != claudehub.ActorSystem || got.Target != string(ada.ID) || got.Detail["why"] != "not_listed" {
			t.Errorf("noted as %+v", got)
		}
		sealed, q := w.begin("ada", "/")
		_, _, err = w.FinishSignIn(w.ctx, sealed, q, browser)
		wantCode(t, "she tries again", err, claudehub.Forbidden)

		check(t, w.far.SetMember("acme", 1001, "active"))
		back, again := w.signInAs("ada")
		if back.ID != ada.ID || !back.Removed.IsZero() {
			t.Errorf("back as %+v", back)
		}
		w.opens("her Runner, when she is back", runner, true)
		_, _, err = w.Authenticate(w.ctx, cookie)
		wantCode(t, "the browser of before", err, claudehub.Unauthenticated)
		_, _, err = w.Authenticate(w.ctx, again)
		check(t, err)
		w.wantNotes("person.return", 1)
		w.wantNotes("person.remove", 1)
	})
}

// TestRemovedAtSignIn: what GitHub says of a member while they sign in counts at once.
func TestRemovedAtSignIn(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		_, cookie := w.signInAs("ada")
		w.leaveOrg(1001)
		sealed, q := w.begin("ada", "/")
		_, _, err := w.FinishSignIn(w.ctx, sealed, q, browser)
		wantCode(t, "sign-in", err, claudehub.Forbidden)
		_, _, err = w.Authenticate(w.ctx, cookie)
		wantCode(t, "her browser", err, claudehub.Unauthenticated)
	})
}

func TestOutageChangesNothing(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, cookie := w.signInAs("ada")
		w.leaveOrg(1001)
		w.clock.move(15 * time.Minute)
		for name, f := range map[string]standin.Failure{
			"down":           {Endpoint: standin.Every, Kind: standin.Down},
			"403 of a proxy": {Endpoint: standin.Every, Kind: standin.Foreign, Status: 403},
			"rate limit":     {Endpoint: standin.User, Kind: standin.RateLimit, Status: 403, RetryAfter: 1},
			"malformed":      {Endpoint: standin.User, Kind: standin.Malformed},
			"unavailable":    {Endpoint: standin.OrgMembership, Kind: standin.Status, Status: 503},
		} {
			var b fleet.Backoff
			w.fail(f)
			check(t, w.RecheckDue(w.ctx, &b))
			if !b.Away(w.clock.now()) {
				t.Errorf("%s: GitHub is not left alone", name)
			}
			if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
				t.Errorf("%s throws her out: %v", name, err)
			}
			n := w.asked()
			check(t, w.recheck())
			if w.asked() != n {
				t.Errorf("%s: she is asked about again at once", name)
			}
			w.far.Heal()
			w.clock.move(10 * time.Minute)
		}
		check(t, w.recheck())
		if p := w.person(ada.ID); p.Removed.IsZero() {
			t.Error("GitHub is back, and she is here")
		}
	})
}

func TestSlowIsNoOutage(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, cookie := w.signInAs("ada")
		w.clock.move(15 * time.Minute)
		w.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Slow, DelayMS: 300})
		check(t, w.recheck())
		n := w.asked()
		check(t, w.recheck())
		if w.asked() != n || !w.person(ada.ID).Removed.IsZero() {
			t.Error("the answer was not taken")
		}
		_, _, err := w.Authenticate(w.ctx, cookie)
		check(t, err)
	})
}

func TestWhatGitHubSaysNoTo(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		for why, no := range map[string]func(){
			"token_ended": func() { w.far.Revoke(1001) },
			"withheld":    func() { w.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Status, Status: 403}) },
		} {
			ada, cookie := w.signInAs("ada")
			w.clock.move(15 * time.Minute)
			no()
			check(t, w.recheck())
			w.far.Heal()
			_, _, err := w.Authenticate(w.ctx, cookie)
			wantCode(t, why, err, claudehub.Unauthenticated)
			if got := w.audit(fleet.AuditFilter{Action: "person.remove", Limit: 1}); len(got) != 1 || got[0].Detail["why"] != why || got[0].Target != string(ada.ID) {
				t.Errorf("%s: noted as %+v", why, got)
			}
		}
		// Without the keyset that their token was sealed with, nothing is known of anybody.
		_, cookie := w.signInAs("bob")
		check(t, w.st.Write(w.ctx, func(q store.Q) error { _, err := q.ForgetKeyset(w.ctx); return err }))
		w.clock.move(15 * time.Minute)
		check(t, w.recheck())
		_, _, err := w.Authenticate(w.ctx, cookie)
		wantCode(t, "without a token", err, claudehub.Unauthenticated)
	})
}

func TestIdentityIsRefreshed(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, _ := w.signInAs("ada")
		check(t, w.far.SetPerson(standin.Person{ID: 1001, Login: "lovelace", Name: "Ada Lovelace", AvatarURL: "https://pictures.example/new"}))
		w.clock.move(15 * time.Minute)
		check(t, w.recheck())
		if p := w.person(ada.ID); p.Login != "lovelace" || p.Name != "Ada Lovelace" || p.Avatar != "https://pictures.example/new" {
			t.Errorf("she is %+v", p)
		}
	})
}

// TestOneHubAsks: two Hubs share a database, and one of them asks about a person; the token is renewed by it, which both
// could not do.
func TestOneHubAsks(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		app := w.far.Script().App
		app.TokenLifeSeconds = 60 // soon over: each question renews it
		check(t, w.far.SetApp(app))
		ada, cookie := w.signInAs("ada")
		other := w.hub()
		for round := range 4 {
			w.clock.move(15 * time.Minute)
			n, renewed := w.asked(), w.calls(standin.AccessToken)
			var all sync.WaitGroup
			for range 3 {
				for _, hub := range []*fleet.Fleet{w.Fleet, other} {
					all.Go(func() {
						if err := hub.RecheckDue(w.ctx, &fleet.Backoff{}); err != nil {
							t.Error(err)
						}
					})
				}
			}
			all.Wait()
			if got := w.asked() - n; got != 1 {
				t.Errorf("round %d: asked %d times", round, got)
			}
			if got := w.calls(standin.AccessToken) - renewed; got != 1 {
				t.Errorf("round %d: the token was renewed %d times", round, got)
			}
			if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if p := w.person(ada.ID); !p.Removed.IsZero() {
			t.Errorf("she is %+v", p)
		}
	})
}

// hanging is a GitHub that answers a recheck when it is let go.
type hanging struct {
	fleet.GitHub
	asked chan struct{}
	go_   chan github.Verdict
}

func (h hanging) Recheck(ctx context.Context, id int64, _ github.Token, _ github.AllowList, _ func(context.Context, github.Token) error) (github.Verdict, error) {
	h.asked <- struct{}{}
	select {
	case v := <-h.go_:
		return v, nil
	case <-ctx.Done():
		return github.Verdict{}, ctx.Err()
	}
}

// TestALateNoCountsForNothing: a Hub that slept in the middle of a question comes with an answer about a token that is
// gone, after the person signed in again.
func TestALateNoCountsForNothing(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		_, cookie := w.signInAs("ada")
		slow := hanging{w.client, make(chan struct{}, 1), make(chan github.Verdict)}
		asleep := w.hubWith(slow)
		w.clock.move(15 * time.Minute)
		done := make(chan error)
		go func() { done <- asleep.RecheckDue(w.ctx, &fleet.Backoff{}) }()
		<-slow.asked
		w.signInAs("ada")
		slow.go_ <- github.Verdict{Reason: github.TokenEnded}
		check(t, <-done)
		if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
			t.Errorf("she is thrown out: %v", err)
		}

		// One that was killed keeps the others from asking for two minutes.
		w.clock.move(15 * time.Minute)
		ctx, kill := context.WithCancel(w.ctx)
		go func() { done <- asleep.RecheckDue(ctx, &fleet.Backoff{}) }()
		<-slow.asked
		n := w.asked()
		check(t, w.recheck())
		if w.asked() != n {
			t.Error("asked twice at a time")
		}
		w.clock.move(fleet.ClaimLife)
		check(t, w.recheck())
		if w.asked() != n+1 {
			t.Error("the claim of a Hub that is gone stays")
		}
		kill()
		check(t, <-done)
		w.clock.move(time.Second)
		if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
			t.Error(err)
		}
	})
}

func TestRunRechecks(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		_, cookie := w.signInAs("ada")
		hub := w.hubEvery(200 * time.Millisecond)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		done := make(chan error)
		told := make(chan struct{}, 10)
		p, _, err := hub.Authenticate(w.ctx, cookie)
		check(t, err)
		stop, err := hub.Revocations(p.ID, func() { told <- struct{}{} })
		check(t, err)
		defer stop()
		w.leaveOrg(1001)
		go func() { done <- hub.Run(ctx) }()
		select {
		case <-told:
		case <-time.After(20 * time.Second):
			t.Fatal("she is still here")
		}
		_, _, err = hub.Authenticate(w.ctx, cookie)
		wantCode(t, "her browser", err, claudehub.Unauthenticated)
		cancel()
		check(t, <-done)
	})
}
