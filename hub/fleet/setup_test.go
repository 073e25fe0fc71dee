package fleet_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

func TestSetupCode(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, _ := w.signInAs("ada")
		bob, bobs := w.signInAs("bob")
		first, made, err := w.NewSetupCode(w.ctx)
		if err != nil || !made {
			t.Fatalf("the admin of local mode counts: %v, %v", made, err)
		}
		code, made, err := w.NewSetupCode(w.ctx) // a second start
		if err != nil || !made {
			t.Fatal(made, err)
		}
		for what, s := range map[string]string{"the code of the first start": first.Reveal(), "one that nobody made": claudehub.NewToken(claudehub.SetupToken).Reveal(),
			"nothing": "", "another kind": claudehub.NewToken(claudehub.BrowserToken).Reveal()} {
			_, err := w.RedeemSetupCode(w.ctx, ada, s)
			wantCode(t, what, err, claudehub.Forbidden)
		}
		got, err := w.RedeemSetupCode(w.ctx, bob, " "+code.Reveal()+"\n")
		check(t, err)
		if got.ID != bob.ID || got.Role != claudehub.RoleAdmin {
			t.Errorf("it is %+v", got)
		}
		if p, _, err := w.Authenticate(w.ctx, bobs); err != nil || p.Role != claudehub.RoleAdmin {
			t.Errorf("bob is %+v, %v", p, err)
		}
		_, err = w.RedeemSetupCode(w.ctx, ada, code.Reveal())
		wantCode(t, "a used code", err, claudehub.Forbidden)
		if _, made, err := w.NewSetupCode(w.ctx); made || err != nil {
			t.Errorf("a code is made beside an admin: %v, %v", made, err)
		}
		if got := w.wantNotes("setup.redeem", 1)[0]; got.Actor != string(bob.ID) || got.Login != "bob" {
			t.Errorf("noted as %+v", got)
		}
	})
}

func TestTheFirstOneWins(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, _ := w.signInAs("ada")
		bob, _ := w.signInAs("bob")
		code, _, err := w.NewSetupCode(w.ctx)
		check(t, err)
		var all sync.WaitGroup
		var admins atomic.Int32
		for i := range 6 {
			p := []claudehub.Person{ada, bob}[i%2]
			all.Go(func() {
				if _, err := w.RedeemSetupCode(w.ctx, p, code.Reveal()); err == nil {
					admins.Add(1)
				} else {
					wantCode(t, "the others", err, claudehub.Forbidden)
				}
			})
		}
		all.Wait()
		if n := admins.Load(); n != 1 {
			t.Errorf("%d became admin", n)
		}
	})
}

// TestAnAdminWhoLeft: a Hub without an admin can have one again.
func TestAnAdminWhoLeft(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, _ := w.signInAs("ada")
		code, _, err := w.NewSetupCode(w.ctx)
		check(t, err)
		_, err = w.RedeemSetupCode(w.ctx, ada, code.Reveal())
		check(t, err)
		w.leaveOrg(1001)
		w.clock.move(15 * time.Minute)
		check(t, w.recheck())
		if _, made, err := w.NewSetupCode(w.ctx); !made || err != nil {
			t.Errorf("no code is made: %v, %v", made, err)
		}
		_, err = w.RedeemSetupCode(w.ctx, ada, code.Reveal())
		wantCode(t, "somebody who left", err, claudehub.Unauthenticated)
	})
}

func TestAdmin(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, adas := w.signInAs("ada")
		bob, bobs := w.signInAs("bob")
		code, _, err := w.NewSetupCode(w.ctx)
		check(t, err)
		ada, err = w.RedeemSetupCode(w.ctx, ada, code.Reveal())
		check(t, err)

		for what, err := range map[string]error{
			"people":  errOf(w.People(w.ctx, bob)),
			"role":    errOf(w.SetRole(w.ctx, bob, bob.ID, claudehub.RoleAdmin)),
			"out":     w.SignOutPerson(w.ctx, bob, ada.ID),
			"runners": errOf(w.AllRunners(w.ctx, bob)),
		} {
			wantCode(t, "a member: "+what, err, claudehub.NotFound)
		}
		liar := bob
		liar.Role = claudehub.RoleAdmin // as it was when the request came in
		wantCode(t, "an admin of before", errOf(w.SetRole(w.ctx, liar, bob.ID, claudehub.RoleMember)), claudehub.NotFound)

		all, err := w.People(w.ctx, ada)
		check(t, err)
		if len(all) != 4 || all[0].ID != ada.ID || all[1].ID != bob.ID {
			t.Errorf("the people are %+v", all)
		}
		wantCode(t, "an unknown role", errOf(w.SetRole(w.ctx, ada, bob.ID, "god")), claudehub.Invalid)
		wantCode(t, "nobody", errOf(w.SetRole(w.ctx, ada, claudehub.NewPersonID(), claudehub.RoleAdmin)), claudehub.NotFound)
		wantCode(t, "the last admin", errOf(w.SetRole(w.ctx, ada, ada.ID, claudehub.RoleMember)), claudehub.Conflict)
		bob, err = w.SetRole(w.ctx, ada, bob.ID, claudehub.RoleAdmin)
		check(t, err)

		_, token, err := w.CreateAPIToken(w.ctx, bob.ID, "ci", reading, time.Time{})
		check(t, err)
		_, runner, err := w.AddRunner(w.ctx, bob.ID, "box")
		check(t, err)
		told := make(chan struct{}, 10)
		stop, err := w.Revocations(bob.ID, func() { told <- struct{}{} })
		check(t, err)
		defer stop()
		check(t, w.SignOutPerson(w.ctx, ada, bob.ID))
		<-told
		_, _, err = w.Authenticate(w.ctx, bobs)
		wantCode(t, "his browser", err, claudehub.Unauthenticated)
		_, _, err = w.AuthenticateToken(w.ctx, token)
		wantCode(t, "his token", err, claudehub.Unauthenticated)
		w.opens("his Runner", runner, true)
		if _, _, err := w.Authenticate(w.ctx, adas); err != nil {
			t.Error(err)
		}
		runners, err := w.AllRunners(w.ctx, ada)
		check(t, err)
		if len(runners) != 3 || runners[0].By.Login != "bob" || runners[0].Name != "box" || runners[1].By.Login != "local" {
			t.Errorf("the Runners are %+v", runners)
		}
		w.wantNotes("person.role", 1)
		w.wantNotes("person.sign-out", 1)

		// Each demotes the other at the same moment: one of them stays.
		var both sync.WaitGroup
		for _, pair := range [][2]claudehub.Person{{ada, bob}, {bob, ada}} {
			both.Go(func() { _, _ = w.SetRole(w.ctx, pair[0], pair[1].ID, claudehub.RoleMember) })
		}
		both.Wait()
		if one, two := w.person(ada.ID).Role, w.person(bob.ID).Role; one == two {
			t.Errorf("both are %s", one)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }
