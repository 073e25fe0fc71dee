package github_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

// no checks that a verdict is a no for this reason, and that it sounds like every other no.
func (f far) no(token github.Token, text string, want github.Reason) {
	f.Helper()
	v, err := f.patient.Allowed(f.Context(), token, list(f.T, text))
	if err != nil || v.Allowed || v.Reason != want {
		f.Errorf("%s: %+v %v, want a no by %s", text, v, err, want)
		return
	}
	if claudehub.CodeOf(v.Err()) != claudehub.Forbidden || claudehub.MessageOf(v.Err()) != "This GitHub account may not use this Hub. If it should, ask the Hub's administrator." {
		f.Errorf("%s: %v", text, v.Err())
	}
}

func (f far) yes(token github.Token, text, by string) {
	f.Helper()
	if v, err := f.patient.Allowed(f.Context(), token, list(f.T, text)); err != nil || !v.Allowed || v.By != by || v.Err() != nil {
		f.Errorf("%s: %+v %v, want a yes by %s", text, v, err, by)
	}
}

func TestAllowed(t *testing.T) {
	for _, options := range [][]option{nil, {publicLayout}} {
		f := start(t, options...)
		_, a := f.signIn("Ada")
		_, b := f.signIn("bob")
		f.yes(a, "login:aDA", "login:ada")
		f.yes(a, "org:ACME", "org:acme")
		f.yes(a, "team:acme/Platform", "team:acme/platform")
		f.yes(a, "login:x org:other org:none team:acme/none team:acme/platform", "team:acme/platform")
		f.no(b, "login:ada org:acme org:none team:acme/platform team:none/none", github.NotListed)
		f.must(f.server.SetMember("acme", bob, "pending"))
		f.must(f.server.SetTeamMember("acme", "platform", bob, "pending"))
		f.no(b, "org:acme team:acme/platform", github.NotListed)
		f.must(f.server.SetMember("acme", bob, "active"))
		f.yes(b, "org:acme", "org:acme")
		f.no(b, "team:acme/platform", github.NotListed)
		f.must(f.server.SetTeamMember("acme", "platform", bob, "active"))
		f.yes(b, "team:acme/platform", "team:acme/platform")
		f.must(f.server.SetMember("acme", bob, ""))
		f.no(b, "org:acme team:acme/platform", github.NotListed)
		f.must(f.server.RenameOrg("acme", "acme-new"))
		f.no(a, "org:acme", github.NotListed)
		f.yes(a, "org:acme-new", "org:acme-new")
	}
}

func TestRenamedLoginIsTheSamePersonUnderItsNewNameAlone(t *testing.T) {
	f := start(t)
	who, token := f.signIn("Ada")
	f.must(f.server.SetPerson(standin.Person{ID: ada, Login: "countess"}))
	f.must(f.server.SetPerson(standin.Person{ID: bob, Login: "ada"}))
	v, err := f.client.Recheck(t.Context(), who.ID, token, list(t, "login:countess"), never)
	if err != nil || !v.Allowed || v.Identity.ID != ada || v.Identity.Login != "countess" {
		t.Errorf("%+v %v", v, err)
	}
	f.no(token, "login:ada", github.NotListed)
	f.yes(token, "team:acme/platform", "team:acme/platform")
	other, otherToken := f.signIn("ada")
	if other.ID != bob {
		t.Errorf("%+v", other)
	}
	f.no(otherToken, "team:acme/platform", github.NotListed)
}

func TestRefusalsOfGitHubAreANo(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Status, Status: 403})
	f.no(token, "org:acme", github.Withheld)
	f.yes(token, "org:acme team:acme/platform", "team:acme/platform")
	f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Status, Status: 404})
	f.no(token, "org:acme", github.NotListed)
	f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Revoked})
	f.no(token, "org:acme team:acme/platform", github.TokenEnded)
	f.server.Heal()
	f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.Status, Status: 403})
	f.no(token, "login:ada", github.Withheld)
	f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.Status, Status: 404})
	_, err := f.client.Allowed(t.Context(), token, list(t, "login:ada"))
	wantOutage(t, "a user that is not found", err)
	f.server.Heal()
	f.server.Revoke(ada)
	f.no(token, "login:ada", github.TokenEnded)
	f.no(github.Token{}, "login:ada", github.TokenEnded)
}

func TestScopeThatWasNotGrantedIsANo(t *testing.T) {
	f := start(t, func(c *github.Config, _ string) { c.Scopes = nil })
	_, token := f.signIn("Ada")
	f.yes(token, "login:ada", "login:ada")
	f.no(token, "org:acme", github.Withheld)
}

func TestAnEmptyListAsksNothing(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	before := len(f.server.Log().Requests)
	v, err := f.client.Allowed(t.Context(), token, github.AllowList{})
	if v.Allowed || claudehub.CodeOf(err) != claudehub.Invalid || len(f.server.Log().Requests) != before {
		t.Errorf("%+v %v", v, err)
	}
}

// TestAwayIsNeverANo: whoever is in is not thrown out because GitHub is away; and nobody is let in by it.
func TestAwayIsNeverANo(t *testing.T) {
	f := start(t, within(400*time.Millisecond))
	_, token := f.signIn("Ada")
	for endpoint, text := range map[string]string{
		standin.User: "login:ada", standin.OrgMembership: "org:acme", standin.TeamMember: "org:other team:acme/platform",
	} {
		for name, failure := range failing(endpoint) {
			f.fail(failure)
			v, err := f.client.Recheck(t.Context(), ada, token, list(t, text), never)
			wantOutage(t, endpoint+" "+name, err)
			if v.Allowed || v.Reason != "" {
				t.Errorf("%s %s: %+v", endpoint, name, v)
			}
		}
		f.server.Heal()
	}
	f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Down})
	f.yes(token, "org:acme team:acme/platform", "team:acme/platform")
}

func TestAnswersAboutSomethingElseAreNoYes(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	for _, body := range []string{
		`{"state":"active"}`, `{"state":"active","user":{"id":1001}}`, `{"state":"active","organization":{"login":"acme"}}`,
		`{"state":"active","user":{"id":1002},"organization":{"login":"acme"}}`,
		`{"state":"active","user":{"id":1001},"organization":{"login":"acme2"}}`,
		`{"state":"ACTIVE","user":{"id":1001},"organization":{"login":"acme"}}`, `{"state":true}`, `null`, `[]`, `{}`, `"active"`,
	} {
		f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Answer, Body: body})
		v, err := f.client.Allowed(t.Context(), token, list(t, "org:acme"))
		wantOutage(t, body, err)
		if v.Allowed {
			t.Errorf("%s is a yes", body)
		}
	}
}

func TestTheWishToWaitIsPassedOn(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	for _, failure := range []standin.Failure{
		{Kind: standin.RateLimit, RetryAfter: 90}, {Kind: standin.RateLimit, Status: 403, RetryAfter: 90}, {Kind: standin.Secondary, RetryAfter: 90},
	} {
		failure.Endpoint = standin.User
		f.fail(failure)
		_, err := f.client.Allowed(t.Context(), token, list(t, "login:ada"))
		if o, ok := github.AsOutage(err); !ok || o.RetryAfter != 90*time.Second {
			t.Errorf("%+v: %v", failure, err)
		}
	}
	f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.RateLimit, RetryAfter: 1_000_000})
	_, err := f.client.Allowed(t.Context(), token, list(t, "login:ada"))
	if o, ok := github.AsOutage(err); !ok || o.RetryAfter != time.Hour {
		t.Error(err)
	}
}

func TestTheWholeQuestionHasADeadline(t *testing.T) {
	f := start(t, within(200*time.Millisecond))
	_, token := f.signIn("Ada")
	f.fail(standin.Failure{Endpoint: standin.OrgMembership, Kind: standin.Hang})
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf("org:a%d", i)
	}
	began := time.Now()
	_, err := f.client.Allowed(t.Context(), token, list(t, strings.Join(many, " ")))
	wantOutage(t, "fifty that hang", err)
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := f.server.Log().Count(standin.OrgMembership); n > 5 {
		t.Errorf("asked %d times", n)
	}
}

func TestRecheckKnowsWhoseTokenItIs(t *testing.T) {
	f := start(t)
	_, token := f.signIn("bob")
	v, err := f.client.Recheck(t.Context(), ada, token, list(t, "login:bob"), never)
	if err != nil || v.Allowed || v.Reason != github.OtherPerson {
		t.Errorf("%+v %v", v, err)
	}
}

// short makes tokens that have to be renewed at once.
func short(f far) {
	f.must(f.server.SetApp(standin.App{Redirects: []string{back}, TokenLifeSeconds: 60}))
}

func TestRecheckRenewsAndKeepsBeforeItAsks(t *testing.T) {
	f := start(t)
	short(f)
	_, token := f.signIn("Ada")
	var kept github.Token
	asked := 0
	keep := func(_ context.Context, fresh github.Token) error {
		kept, asked = fresh, f.server.Log().Count(standin.User)
		return nil
	}
	before := f.server.Log().Count(standin.User)
	v, err := f.client.Recheck(t.Context(), ada, token, list(t, "org:acme"), keep)
	if err != nil || !v.Allowed || kept.IsZero() || asked != before {
		t.Fatalf("%+v %v, kept %v after %d calls", v, err, kept, asked-before)
	}
	f.no(token, "login:ada", github.TokenEnded)
	stored, err := github.ParseToken(kept.Reveal())
	f.must(err)
	f.yes(stored, "login:ada", "login:ada")
	if v, err := f.client.Recheck(t.Context(), ada, token, list(t, "org:acme"), never); err != nil || v.Reason != github.TokenEnded {
		t.Errorf("a used refresh token: %+v %v", v, err)
	}
	full := errors.New("the disk is full")
	if _, err := f.client.Recheck(t.Context(), ada, stored, list(t, "org:acme"), func(context.Context, github.Token) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestRenewingWhileGitHubIsAwayIsNoNoAndGoesOutOnce(t *testing.T) {
	f := start(t, within(400*time.Millisecond))
	short(f)
	_, token := f.signIn("Ada")
	for name, failure := range failing(standin.AccessToken) {
		f.fail(failure)
		before := f.server.Log().Count(standin.AccessToken)
		v, err := f.client.Recheck(t.Context(), ada, token, list(t, "org:acme"), never)
		wantOutage(t, name, err)
		if n := f.server.Log().Count(standin.AccessToken) - before; v.Reason != "" || n != 1 {
			t.Errorf("%s: %+v, asked %d times", name, v, n)
		}
	}
	f.server.Heal()
	f.server.Revoke(ada)
	if v, err := f.client.Recheck(t.Context(), ada, token, list(t, "org:acme"), never); err != nil || v.Reason != github.TokenEnded {
		t.Errorf("revoked: %+v %v", v, err)
	}
}

func TestRevoke(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	f.fail(standin.Failure{Endpoint: standin.DeleteToken, Kind: standin.Down, Times: 1})
	f.must(f.client.Revoke(t.Context(), token))
	f.no(token, "login:ada", github.TokenEnded)
	f.must(f.client.Revoke(t.Context(), token))
	f.must(f.client.Revoke(t.Context(), github.Token{}))
	wrong := start(t, func(c *github.Config, _ string) { c.ClientSecret = "an-old-secret" })
	err := wrong.client.Revoke(t.Context(), token)
	if claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Error(err)
	}
	noSecret(t, "revoke", []string{string(token.Reveal()), "an-old-secret"}, err)
}
