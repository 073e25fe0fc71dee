package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

func TestSignInWithGitHub(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ctx := fleet.WithActor(w.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: "192.0.2.7"})
		sealed, q := w.begin("ada", "/sessions/ses_1?tab=diff")
		cookie, next, err := w.FinishSignIn(ctx, sealed, q, browser)
		check(t, err)
		p, in, err := w.Authenticate(w.ctx, cookie)
		check(t, err)
		want := claudehub.Person{ID: p.ID, GitHub: 1001, Login: "ada", Name: "Ada L.", Avatar: "https://pictures.example/ada",
			Role: claudehub.RoleMember, Created: p.Created, Seen: p.Seen}
		if p != want || p.Seen.IsZero() || next != "/sessions/ses_1?tab=diff" || in.UserAgent != browser || in.Address != "192.0.2.7" {
			t.Errorf("signed in as %+v, next %q, %+v", p, next, in)
		}
		if again, _ := w.signInAs("ada"); again.ID != p.ID {
			t.Error("the same person twice")
		}
		if got := w.wantNotes("sign-in", 2)[1]; got.Actor != string(p.ID) || got.Login != "ada" || got.Address != "192.0.2.7" {
			t.Errorf("noted as %+v", got)
		}
		token, ok, err := w.GitHubToken(w.ctx, p.ID)
		if err != nil || !ok {
			t.Fatalf("the person's GitHub token: %v, %v", ok, err)
		}
		check(t, w.st.Write(w.ctx, func(q store.Q) error { return q.AddKeysetCheck(w.ctx, []byte("sealed by an earlier key")) }))
		if n, err := w.Reseal(w.ctx); err != nil || n != 0 {
			t.Errorf("%d Variables, %v", n, err)
		}
		if again, ok, err := w.GitHubToken(w.ctx, p.ID); err != nil || !ok || string(again.Reveal()) != string(token.Reveal()) {
			t.Errorf("sealed anew it is another: %v", err)
		}
		if _, ok, err := w.GitHubToken(w.ctx, w.me); ok || err != nil {
			t.Errorf("the person of local mode has one: %v, %v", ok, err)
		}
	})
}

func TestSignInRefuses(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		refused := func(what, sealed string, q url.Values, code claudehub.Code) {
			t.Helper()
			cookie, next, err := w.FinishSignIn(w.ctx, sealed, q, browser)
			wantCode(t, what, err, code)
			if !cookie.IsZero() || next != "/" {
				t.Errorf("%s: got %v, %q", what, cookie, next)
			}
		}
		sealed, q := w.begin("ada", "/")
		other, _ := w.begin("ada", "/")
		refused("another browser's cookie", other, q, claudehub.Unauthenticated)
		refused("no cookie", "", q, claudehub.Unauthenticated)
		refused("a cookie that is no cookie", "!", q, claudehub.Unauthenticated)
		refused("an endless cookie", strings.Repeat("a", 10_000), q, claudehub.Unauthenticated)
		refused("a cut cookie", sealed[:len(sealed)-4], q, claudehub.Unauthenticated)
		forged := url.Values{"code": q["code"], "state": {"forged"}}
		refused("a forged state", sealed, forged, claudehub.Unauthenticated)

		keys, err := secret.Create(filepath.Join(t.TempDir(), "keyset.json"))
		check(t, err)
		elsewhere := fleet.New(w.st, w.bus, slog.New(slog.DiscardHandler), fleet.Options{Secrets: keys, GitHub: w.client, Redirect: back, Now: w.clock.now})
		_, foreign, err := elsewhere.BeginSignIn(w.ctx, "/")
		check(t, err)
		refused("another Hub's cookie", foreign, q, claudehub.Unauthenticated)

		if _, _, err := w.FinishSignIn(w.ctx, sealed, q, browser); err != nil {
			t.Fatalf("the right one: %v", err)
		}
		refused("replayed", sealed, q, claudehub.Unauthenticated)

		sealed, q = w.begin("mallory", "/")
		refused("not on the list", sealed, q, claudehub.Forbidden)
		if got := w.audit(fleet.AuditFilter{Action: "sign-in", Limit: 1}); len(got) != 1 || got[0].Target != "github:1004 mallory" || got[0].Outcome != claudehub.OutcomeRefused {
			t.Errorf("noted as %+v", got)
		}
		sealed, q = w.begin("", "/")
		refused("declined", sealed, q, claudehub.Forbidden)
		if all, err := w.People(w.ctx, claudehub.Person{ID: w.me, Role: claudehub.RoleAdmin}); err != nil || len(all) != 3 {
			t.Errorf("there are %+v, %v", all, err) // ada, and the two of the rig
		}
		_, sealed, err = w.BeginSignIn(w.ctx, "//evil.example")
		check(t, err)
		if strings.Contains(sealed, "evil") {
			t.Error("the cookie is not sealed")
		}
		link, err := w.SignInLink(w.ctx)
		check(t, err)
		_, err = w.SignIn(w.ctx, link, browser, "")
		wantCode(t, "a link where there is GitHub", err, claudehub.Unauthenticated)
	})
}

func TestNextIsLocal(t *testing.T) {
	w := newTown(t, newRig(t, openSQLite(t)))
	sealed, q := w.begin("ada", "//evil.example/x")
	if _, next, err := w.FinishSignIn(w.ctx, sealed, q, browser); err != nil || next != "/" {
		t.Errorf("next is %q, %v", next, err)
	}
}

func TestOutageAtSignIn(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		_, cookie := w.signInAs("ada")
		for name, f := range map[string]standin.Failure{
			"down":         {Endpoint: standin.User, Kind: standin.Down},
			"no token":     {Endpoint: standin.AccessToken, Kind: standin.Foreign, Status: 503},
			"a proxy":      {Endpoint: standin.OrgMembership, Kind: standin.Foreign, Status: 404},
			"rate limit":   {Endpoint: standin.OrgMembership, Kind: standin.RateLimit, RetryAfter: 30},
			"half":         {Endpoint: standin.OrgMembership, Kind: standin.Half},
			"server error": {Endpoint: standin.User, Kind: standin.Status, Status: 500},
		} {
			sealed, q := w.begin("ada", "/")
			w.fail(f)
			_, _, err := w.FinishSignIn(w.ctx, sealed, q, browser)
			w.far.Heal()
			if _, out := github.AsOutage(err); !out {
				t.Errorf("%s: %v", name, err)
			}
			wantCode(t, name, err, claudehub.Unavailable)
			if _, _, err := w.Authenticate(w.ctx, cookie); err != nil {
				t.Errorf("%s throws out who is in: %v", name, err)
			}
		}
	})
}

func TestLoginsChangeHands(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		ada, adas := w.signInAs("ada")
		bob, _ := w.signInAs("bob")
		check(t, w.far.SetPerson(standin.Person{ID: 1001, Login: "lovelace"}))
		check(t, w.far.SetPerson(standin.Person{ID: 1002, Login: "Ada"}))
		if now, _ := w.signInAs("Ada"); now.ID != bob.ID || now.Login != "Ada" {
			t.Errorf("bob is %+v", now)
		}
		p, _, err := w.Authenticate(w.ctx, adas)
		check(t, err)
		if p.ID != ada.ID || p.Login != "ada#1001" {
			t.Errorf("ada is %+v", p)
		}
		w.clock.move(20 * time.Minute)
		check(t, w.recheck())
		if p := w.person(ada.ID); p.Login != "lovelace" || !p.Removed.IsZero() {
			t.Errorf("ada is %+v", p)
		}
		if p := w.person(bob.ID); p.Login != "Ada" {
			t.Errorf("bob is %+v", p)
		}
		// A login goes in a circle.
		check(t, w.far.SetPerson(standin.Person{ID: 1001, Login: "x"}))
		check(t, w.far.SetPerson(standin.Person{ID: 1002, Login: "lovelace"}))
		check(t, w.far.SetPerson(standin.Person{ID: 1001, Login: "ada"}))
		w.clock.move(20 * time.Minute)
		check(t, w.recheck())
		if one, two := w.person(ada.ID).Login, w.person(bob.ID).Login; one != "ada" || two != "lovelace" {
			t.Errorf("they are %s and %s", one, two)
		}
	})
}

func TestSomebodyIsCalledLocal(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		p, cookie := w.signInAs("local")
		if p.ID == w.me || p.GitHub != 1003 || p.Role != claudehub.RoleMember {
			t.Errorf("signed in as %+v", p)
		}
		local, err := w.LocalPerson(w.ctx)
		check(t, err)
		if local.ID != w.me || local.Login == "local" || local.Role != claudehub.RoleAdmin {
			t.Errorf("the person of local mode is %+v", local)
		}
		w.restart() // without GitHub
		mine := w.signIn()
		if got, _, err := w.Authenticate(w.ctx, mine); err != nil || got.ID != w.me {
			t.Errorf("%+v, %v", got, err)
		}
		w.Fleet = w.hub()
		_, _, err = w.Authenticate(w.ctx, mine)
		wantCode(t, "a cookie of local mode", err, claudehub.Unauthenticated)
		_, _, err = w.Authenticate(w.ctx, cookie)
		check(t, err)
	})
}

// TestLocalIsTaken: the Hub began with GitHub, and somebody there is called "local".
func TestLocalIsTaken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		b, err := bus.Start(t.Context(), bus.Options{})
		check(t, err)
		t.Cleanup(b.Close)
		keys, err := secret.Create(filepath.Join(t.TempDir(), "keyset.json"))
		check(t, err)
		w := newTown(t, &rig{t: t, ctx: t.Context(), st: st, bus: b, keys: keys, log: &syncLog{}, clock: &clock{t: time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC)}})
		p, _ := w.signInAs("local")
		for range 2 {
			local, err := w.LocalPerson(w.ctx)
			check(t, err)
			if local.ID == p.ID || local.GitHub != 0 || local.Login != "local#0" || local.Role != claudehub.RoleAdmin {
				t.Errorf("the person of local mode is %+v", local)
			}
		}
	})
}

func TestNoGitHubTokenIsStored(t *testing.T) {
	w := newTown(t, newRig(t, openSQLite(t)))
	p, cookie := w.signInAs("ada")
	token, ok, err := w.GitHubToken(w.ctx, p.ID)
	if err != nil || !ok {
		t.Fatalf("the person's GitHub token: %v, %v", ok, err)
	}
	access := strings.Split(string(token.Reveal()), `"`)[3]
	if !strings.HasPrefix(access, "gho_") {
		t.Fatal("this test does not know the token's form")
	}
	for _, s := range []string{access, cookie.Reveal()} {
		if found := inFiles(t, w.rig, s); found != "" {
			t.Errorf("a token stands in %s", found)
		}
	}
	if log := w.log.String(); strings.Contains(log, access) || strings.Contains(log, secretID) {
		t.Error("a secret is logged")
	}
}

func TestManySignInAtOnce(t *testing.T) {
	eachTown(t, func(t *testing.T, w *town) {
		var all sync.WaitGroup
		var mu sync.Mutex
		ids := map[claudehub.PersonID]bool{}
		for i := range 8 {
			login := []string{"ada", "bob"}[i%2]
			sealed, q := w.begin(login, "/")
			all.Go(func() {
				cookie, _, err := w.FinishSignIn(w.ctx, sealed, q, browser)
				if err != nil {
					t.Errorf("%s: %v", login, err)
					return
				}
				p, _, err := w.Authenticate(w.ctx, cookie)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[p.ID] = true
			})
		}
		all.Wait()
		if len(ids) != 2 {
			t.Errorf("they are %d people", len(ids))
		}
	})
}

func TestLocalModeHasNoGitHub(t *testing.T) {
	r := newRig(t, openSQLite(t))
	_, _, err := r.BeginSignIn(r.ctx, "/")
	wantCode(t, "begin", err, claudehub.NotFound)
	_, _, err = r.FinishSignIn(r.ctx, "", nil, "")
	wantCode(t, "finish", err, claudehub.NotFound)
	if _, made, err := r.NewSetupCode(r.ctx); made || err != nil {
		t.Errorf("a set-up code is made: %v, %v", made, err)
	}
	if !r.Local() {
		t.Error("it is not local")
	}
}

func TestSignInEndsWithItsAsker(t *testing.T) {
	w := newTown(t, newRig(t, openSQLite(t)))
	sealed, q := w.begin("ada", "/")
	w.fail(standin.Failure{Endpoint: standin.AccessToken, Kind: standin.Hang, Times: 1})
	ctx, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	_, _, err := w.FinishSignIn(ctx, sealed, q, browser)
	if wantCode(t, "left", err, claudehub.Unavailable); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
}
