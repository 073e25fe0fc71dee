package fleet_test

import (
	"sync"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

func (r *rig) opens(what string, token claudehub.Token, want bool) {
	r.t.Helper()
	_, err := r.AuthenticateRunner(r.ctx, token)
	switch {
	case want && err != nil:
		r.t.Errorf("%s: %v", what, err)
	case !want:
		wantCode(r.t, what, err, claudehub.Unauthenticated)
	}
}

func TestRunnerTokenRotates(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		box, one, err := r.AddRunner(r.ctx, r.me, "box")
		check(t, err)
		lost, err := r.NextRunnerToken(r.ctx, box.ID, one)
		check(t, err)
		two, err := r.NextRunnerToken(r.ctx, box.ID, one)
		check(t, err)
		r.opens("an answer that was lost", lost, false)
		r.opens("the old one, before", one, true)
		r.opens("the new one", two, true)
		r.opens("the old one, after", one, false)
		_, err = r.NextRunnerToken(r.ctx, box.ID, one)
		wantCode(t, "rotation with a dead token", err, claudehub.Unauthenticated)
		_, err = r.NextRunnerToken(r.ctx, r.runner, two)
		wantCode(t, "rotation of another Runner", err, claudehub.Unauthenticated)

		three, err := r.NextRunnerToken(r.ctx, box.ID, two)
		check(t, err)
		r.clock.move(7*24*time.Hour - time.Minute)
		r.opens("the old one, within the week", two, true)
		r.clock.move(time.Minute)
		r.opens("the old one, after a week", two, false)
		four, err := r.NextRunnerToken(r.ctx, box.ID, three) // not used yet but here
		check(t, err)
		r.opens("the third", three, true)
		r.opens("the fourth", four, true)
		r.opens("the third, after", three, false)
		// A Hub that knows the next token makes another for a machine that lost it: both are dead.
		five, err := r.NextRunnerToken(r.ctx, box.ID, four)
		check(t, err)
		_, six, err := r.NewRunnerToken(r.ctx, r.me, "box")
		check(t, err)
		r.opens("the current of before", four, false)
		r.opens("the next of before", five, false)
		r.opens("the new one", six, true)
	})
}

func TestRunnerTokenIsPromotedOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		box, one, err := r.AddRunner(r.ctx, r.me, "box")
		check(t, err)
		two, err := r.NextRunnerToken(r.ctx, box.ID, one)
		check(t, err)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if id, err := r.AuthenticateRunner(r.ctx, two); err != nil || id != box.ID {
					t.Errorf("%s, %v", id, err)
				}
			})
		}
		all.Wait()
		r.opens("the old one", one, false)
		r.opens("the new one", two, true)
	})
}

func TestRevokeRunner(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		me, err := r.LocalPerson(r.ctx)
		check(t, err)
		_, token, err := r.NewRunnerToken(r.ctx, r.me, "laptop")
		check(t, err)
		next, err := r.NextRunnerToken(r.ctx, r.runner, token)
		check(t, err)
		s := r.create(fleet.NewSession{Title: "stays"})
		heard := r.listen("one-instance")
		check(t, r.AcquireLease(r.ctx, r.runner, "one-instance", "mac", false))

		stranger := claudehub.Person{ID: r.stranger, Login: "stranger", Role: claudehub.RoleMember}
		wantCode(t, "a stranger's", r.RevokeRunner(r.ctx, stranger, r.runner), claudehub.NotFound)
		wantCode(t, "no such Runner", r.RevokeRunner(r.ctx, me, claudehub.NewRunnerID()), claudehub.NotFound)
		check(t, r.RevokeRunner(r.ctx, me, r.runner))
		check(t, r.RevokeRunner(r.ctx, me, r.runner)) // pressed twice
		hear(t, heard, fleet.Revoked)
		r.opens("the token", token, false)
		r.opens("the next one", next, false)
		wantCode(t, "its stream", r.RenewLease(r.ctx, r.runner, "one-instance"), claudehub.Conflict)
		wantCode(t, "its next stream", r.AcquireLease(r.ctx, r.runner, "one-instance", "mac", true), claudehub.Unauthenticated)
		_, err = r.CreateSession(r.ctx, r.me, fleet.NewSession{Title: "no", Runner: r.runner, Request: "k"})
		wantCode(t, "a Session on it", err, claudehub.Forbidden)
		if l := r.link(); l.State != claudehub.LinkDown {
			t.Errorf("the link is %v", l)
		}
		all, err := r.Runners(r.ctx, r.me)
		check(t, err)
		if len(all) != 1 || all[0].Revoked.IsZero() {
			t.Errorf("the list is %+v", all)
		}
		if _, err := r.Watch(r.ctx, r.me, s.ID); err != nil {
			t.Errorf("its Session is gone: %v", err)
		}
		check(t, r.RevokeRunner(r.ctx, me, r.theirs)) // an admin
		if got := r.wantNotes("runner.revoke", 2); got[0].Target != string(r.theirs) || got[0].Actor != string(r.me) {
			t.Errorf("noted as %+v", got[0])
		}
		_, again, err := r.NewRunnerToken(r.ctx, r.me, "laptop")
		check(t, err)
		r.opens("taken up again", again, true)
	})
}

func TestRunnerUseIsWrittenOnceAMinute(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		_, token, err := r.NewRunnerToken(r.ctx, r.me, "laptop")
		check(t, err)
		use := func(address string) claudehub.Runner {
			ctx := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: address})
			_, err := r.AuthenticateRunner(ctx, token)
			check(t, err)
			all, err := r.Runners(r.ctx, r.me)
			check(t, err)
			return all[0]
		}
		first := use("192.0.2.1")
		r.clock.move(30 * time.Second)
		second := use("192.0.2.2")
		r.clock.move(30 * time.Second)
		third := use("192.0.2.3")
		if first.Address != "192.0.2.1" || second.Address != first.Address || !second.LastUsed.Equal(first.LastUsed) ||
			third.Address != "192.0.2.3" || !third.LastUsed.After(first.LastUsed) {
			t.Errorf("used %v %s, %v %s, %v %s", first.LastUsed, first.Address, second.LastUsed, second.Address, third.LastUsed, third.Address)
		}
	})
}
