package fleet_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

func (r *rig) signIn() claudehub.Token {
	r.t.Helper()
	link, err := r.SignInLink(r.ctx)
	check(r.t, err)
	cookie, err := r.SignIn(r.ctx, link, "Firefox", "127.0.0.1")
	check(r.t, err)
	return cookie
}

func TestSignInLink(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		link, err := r.SignInLink(r.ctx)
		check(t, err)
		cookie, err := r.SignIn(r.ctx, link, "Firefox", "127.0.0.1")
		check(t, err)
		p, in, err := r.Authenticate(r.ctx, cookie)
		check(t, err)
		if p.ID != r.me || in.UserAgent != "Firefox" || in.Address != "127.0.0.1" {
			t.Errorf("authenticated as %v, %v", p, in)
		}
		_, err = r.SignIn(r.ctx, link, "", "")
		wantCode(t, "a used link", err, claudehub.Unauthenticated)
		_, err = r.SignIn(r.ctx, claudehub.NewToken(claudehub.SignInToken), "", "")
		wantCode(t, "a link nobody made", err, claudehub.Unauthenticated)
		old, err := r.SignInLink(r.ctx)
		check(t, err)
		r.clock.move(15 * time.Minute)
		_, err = r.SignIn(r.ctx, old, "", "")
		wantCode(t, "an old link", err, claudehub.Unauthenticated)
	})
}

func TestSignInSlidesForThirtyDays(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		cookie := r.signIn()
		for range 3 {
			r.clock.move(29 * 24 * time.Hour)
			if _, _, err := r.Authenticate(r.ctx, cookie); err != nil {
				t.Fatalf("signed out within 30 days of use: %v", err)
			}
		}
		r.clock.move(30 * 24 * time.Hour)
		_, _, err := r.Authenticate(r.ctx, cookie)
		wantCode(t, "after 30 days without use", err, claudehub.Unauthenticated)
		all, err := r.SignIns(r.ctx, r.me)
		check(t, err)
		if len(all) != 0 {
			t.Errorf("the list has what is over: %v", all)
		}
	})
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		cookie := r.signIn()
		_, first, err := r.Authenticate(r.ctx, cookie)
		check(t, err)
		r.clock.move(59 * time.Second)
		_, in, err := r.Authenticate(r.ctx, cookie)
		check(t, err)
		if !in.LastUsed.Equal(first.LastUsed) {
			t.Error("written within the minute")
		}
		r.clock.move(time.Second)
		_, in, err = r.Authenticate(r.ctx, cookie)
		check(t, err)
		all, err := r.SignIns(r.ctx, r.me)
		check(t, err)
		if !in.LastUsed.After(first.LastUsed) || !all[0].LastUsed.Equal(in.LastUsed) {
			t.Errorf("not written after a minute: %v, %v", in, all)
		}
	})
}

func TestSignOutAndRevoke(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		one, two, three := r.signIn(), r.signIn(), r.signIn()
		check(t, r.SignOut(r.ctx, one))
		_, _, err := r.Authenticate(r.ctx, one)
		wantCode(t, "signed out", err, claudehub.Unauthenticated)
		_, in, err := r.Authenticate(r.ctx, two)
		check(t, err)
		wantCode(t, "a stranger's", r.RevokeSignIn(r.ctx, r.stranger, in.ID), claudehub.NotFound)
		check(t, r.RevokeSignIn(r.ctx, r.me, in.ID))
		_, _, err = r.Authenticate(r.ctx, two)
		wantCode(t, "revoked", err, claudehub.Unauthenticated)
		_, _, err = r.Authenticate(r.ctx, claudehub.Token{})
		wantCode(t, "no cookie", err, claudehub.Unauthenticated)
		all, err := r.SignIns(r.ctx, r.me)
		check(t, err)
		b, err := json.Marshal(all)
		check(t, err)
		if len(all) != 1 || strings.Contains(string(b), three.Hash()) {
			t.Errorf("the list is %s", b)
		}
	})
}

func TestNoTokenIsStored(t *testing.T) {
	r := newRig(t, openSQLite(t))
	link, err := r.SignInLink(r.ctx)
	check(t, err)
	cookie, err := r.SignIn(r.ctx, link, "", "")
	check(t, err)
	_, token, err := r.AddRunner(r.ctx, r.me, "other")
	check(t, err)
	for _, secret := range []claudehub.Token{link, cookie, token} {
		if found := inFiles(t, r, secret.Reveal()); found != "" {
			t.Errorf("a %v token stands in %s", secret, found)
		}
		if found := inFiles(t, r, secret.Hash()); found == "" {
			t.Errorf("the hash of a %v token stands nowhere: this test looks at the wrong files", secret)
		}
	}
}
