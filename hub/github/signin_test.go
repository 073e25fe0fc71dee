package github_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

func TestSignInInBothLayouts(t *testing.T) {
	for name, options := range map[string][]option{"enterprise": nil, "public": {publicLayout}} {
		t.Run(name, func(t *testing.T) {
			f := start(t, options...)
			who, token := f.signIn("Ada")
			want := github.Identity{ID: ada, Login: "Ada", Name: "Ada L.", AvatarURL: "https://pictures.example/ada"}
			if who != want || token.IsZero() || !token.Expires().IsZero() {
				t.Errorf("%+v, %v until %v", who, token, token.Expires())
			}
			path := map[string]string{"enterprise": "/api/v3/user", "public": "/user"}[name]
			requests := f.server.Log().Requests
			if last := requests[len(requests)-1]; last.Path != path || last.Person != ada {
				t.Errorf("%+v", last)
			}
			for _, q := range requests {
				if (q.Endpoint == standin.Authorize || q.Endpoint == standin.AccessToken) && !q.PKCE {
					t.Errorf("without PKCE: %+v", q)
				}
			}
		})
	}
}

func TestBeginAsksForWhatIsNeededAlone(t *testing.T) {
	f := start(t)
	to, p, err := f.client.Begin(back)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("redirect_uri") != back || q.Get("scope") != "read:org" || q.Get("state") != p.State || q.Get("code_challenge_method") != "S256" {
		t.Errorf("%v", q)
	}
	if len(p.State) < 26 || len(p.Verifier) < 43 || strings.Contains(to, p.Verifier) || strings.Contains(to, secret) {
		t.Errorf("%s", to)
	}
	_, again, _ := f.client.Begin(back)
	if again.State == p.State || again.Verifier == p.Verifier {
		t.Error("state or verifier was used twice")
	}
	for _, bad := range []string{"", "/back", "http://hub.example/back", "https://hub.example/back?x=1", "https://u:p@hub.example/", "javascript:alert(1)"} {
		if _, _, err := f.client.Begin(bad); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWrongAnswersLookAlike: whoever forges, replays or delays an answer learns nothing about which of it was wrong.
func TestWrongAnswersLookAlike(t *testing.T) {
	f := start(t)
	used, usedAnswer := f.answer("Ada")
	if _, _, err := f.client.Finish(t.Context(), used, usedAnswer); err != nil {
		t.Fatal(err)
	}
	pending, good := f.answer("Ada")
	otherPending, otherAnswer := f.answer("bob")
	with := func(p github.Pending, change func(*github.Pending)) github.Pending { change(&p); return p }
	cases := map[string]struct {
		p github.Pending
		a github.Answer
	}{
		"forged state":     {pending, github.Answer{Code: good.Code, State: "forged"}},
		"no state":         {pending, github.Answer{Code: good.Code}},
		"nothing pending":  {github.Pending{}, github.Answer{Code: good.Code}},
		"another browser":  {pending, otherAnswer},
		"too late":         {with(pending, func(p *github.Pending) { p.Expires = time.Now().Add(-time.Second) }), good},
		"no code":          {pending, github.Answer{State: good.State}},
		"made-up code":     {pending, github.Answer{Code: "made-up", State: pending.State}},
		"used code":        {used, usedAnswer},
		"strange error":    {pending, github.Answer{Error: "server_error", State: pending.State}},
		"code and error":   {pending, github.Answer{Code: "x", Error: "server_error", State: pending.State}},
		"other's verifier": {with(otherPending, func(p *github.Pending) { p.Verifier = pending.Verifier }), otherAnswer},
	}
	for name, c := range cases {
		who, token, err := f.client.Finish(t.Context(), c.p, c.a)
		if claudehub.CodeOf(err) != claudehub.Unauthenticated || who != (github.Identity{}) || !token.IsZero() {
			t.Errorf("%s: %v %v %v", name, who, token, err)
		}
		if m := claudehub.MessageOf(err); m != "That sign-in is not valid, or not any more. Start again from the sign-in page." {
			t.Errorf("%s: %s", name, m)
		}
	}
	if _, _, err := f.client.Finish(t.Context(), pending, good); err != nil {
		t.Errorf("the wrong ones spoiled the right one: %v", err)
	}
}

func TestAnswerFromTakesEachParameterOnce(t *testing.T) {
	long := strings.Repeat("x", 600)
	for query, want := range map[string]github.Answer{
		"code=c&state=s":         {Code: "c", State: "s"},
		"error=e&state=s":        {Error: "e", State: "s"},
		"code=c&code=d&state=s":  {State: "s"},
		"code=c&state=s&state=s": {Code: "c"},
		"code=" + long:           {},
		"state=" + long:          {},
		"":                       {},
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := github.AnswerFrom(q); got.Code != want.Code || got.State != want.State || got.Error != want.Error {
			t.Errorf("%s: %q %q %q", query, got.Code, got.State, got.Error)
		}
	}
}

func TestDeclined(t *testing.T) {
	f := start(t)
	p, a := f.answer("")
	if _, _, err := f.client.Finish(t.Context(), p, a); claudehub.CodeOf(err) != claudehub.Forbidden || !strings.Contains(err.Error(), "declined") {
		t.Error(err)
	}
	a.State = "forged"
	if _, _, err := f.client.Finish(t.Context(), p, a); claudehub.CodeOf(err) != claudehub.Unauthenticated {
		t.Error(err)
	}
}

func TestWrongApplicationIsTheOperatorsToMend(t *testing.T) {
	f := start(t, func(c *github.Config, _ string) { c.ClientSecret = "an-old-secret" })
	p, a := f.answer("Ada")
	_, _, err := f.client.Finish(t.Context(), p, a)
	if claudehub.CodeOf(err) != claudehub.Unavailable || !strings.Contains(claudehub.MessageOf(err), "operator") {
		t.Error(err)
	}
	noSecret(t, "wrong secret", []string{"an-old-secret", a.Code, p.Verifier}, err)
}

func TestUnverifiedAddress(t *testing.T) {
	f := start(t)
	p, a := f.answer("Ada")
	f.fail(standin.Failure{Endpoint: standin.AccessToken, Kind: standin.Answer, Body: `{"error":"unverified_user_email"}`})
	if _, _, err := f.client.Finish(t.Context(), p, a); claudehub.CodeOf(err) != claudehub.Forbidden || !strings.Contains(err.Error(), "verif") {
		t.Error(err)
	}
}

// TestNamesAndPicturesAreTamed: what GitHub says of a person is shown on pages.
func TestNamesAndPicturesAreTamed(t *testing.T) {
	f := start(t)
	for body, want := range map[string]github.Identity{
		`{"id":7,"login":"eve","name":"E\u202eve\n\u0000 X","avatar_url":"javascript:alert(1)"}`: {ID: 7, Login: "eve", Name: "Eve  X"},
		`{"id":7,"login":"eve","avatar_url":"http://pictures.example/x"}`:                        {ID: 7, Login: "eve"},
		`{"id":7,"login":"eve_corp","name":null,"avatar_url":null}`:                              {ID: 7, Login: "eve_corp"},
		`{"id":7,"login":"eve","name":"` + strings.Repeat("é", 300) + `"}`:                       {ID: 7, Login: "eve", Name: strings.Repeat("é", 200)},
	} {
		p, a := f.answer("Ada")
		f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.Answer, Body: body, Times: 1})
		if who, _, err := f.client.Finish(t.Context(), p, a); err != nil || who != want {
			t.Errorf("%s: %+v %v", body, who, err)
		}
	}
	for _, body := range []string{`{}`, `null`, `[]`, `{"id":0,"login":"x"}`, `{"id":-1,"login":"x"}`, `{"id":1}`, `{"id":1,"login":"../x"}`, `{"id":1,"login":"a/b"}`, `{"id":"1","login":"a"}`, ``} {
		p, a := f.answer("Ada")
		f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.Answer, Body: body, Times: 1})
		_, _, err := f.client.Finish(t.Context(), p, a)
		wantOutage(t, body, err)
	}
}

// failing are all ways in which GitHub is away; none of them says anything about a person.
func failing(endpoint string) map[string]standin.Failure {
	all := map[string]standin.Failure{
		"down":          {Kind: standin.Down},
		"half":          {Kind: standin.Half},
		"hang":          {Kind: standin.Hang},
		"slow":          {Kind: standin.Slow, DelayMS: 60_000},
		"limit":         {Kind: standin.RateLimit, RetryAfter: 30},
		"limit as 403":  {Kind: standin.RateLimit, Status: 403, RetryAfter: 30},
		"burst":         {Kind: standin.Secondary, RetryAfter: 30},
		"malformed":     {Kind: standin.Malformed},
		"empty":         {Kind: standin.Answer},
		"huge":          {Kind: standin.Huge},
		"redirect":      {Kind: standin.Redirect, Location: "http://127.0.0.1:9/elsewhere"},
		"307":           {Kind: standin.Redirect, Status: 307, Location: "http://127.0.0.1:9/elsewhere"},
		"accepted":      {Kind: standin.Status, Status: 202},
		"proxy's 200":   {Kind: standin.Foreign, Status: 200},
		"proxy's 401":   {Kind: standin.Foreign, Status: 401},
		"proxy's 403":   {Kind: standin.Foreign, Status: 403},
		"proxy's 404":   {Kind: standin.Foreign, Status: 404},
		"proxy's 502":   {Kind: standin.Foreign, Status: 502},
		"teapot":        {Kind: standin.Status, Status: 418},
		"500":           {Kind: standin.Status, Status: 500},
		"503":           {Kind: standin.Status, Status: 503},
		"500 and words": {Kind: standin.Answer, Status: 500, Body: `{"error":"bad_verification_code","message":"Not Found"}`},
	}
	for name, failure := range all {
		failure.Endpoint = endpoint
		all[name] = failure
	}
	return all
}

func TestSignInWhileGitHubIsAway(t *testing.T) {
	f := start(t, within(400*time.Millisecond))
	for _, endpoint := range []string{standin.AccessToken, standin.User} {
		for name, failure := range failing(endpoint) {
			p, a := f.answer("Ada")
			before := f.server.Log().Count(endpoint)
			f.fail(failure)
			began := time.Now()
			who, token, err := f.client.Finish(t.Context(), p, a)
			wantOutage(t, endpoint+" "+name, err)
			if who != (github.Identity{}) || !token.IsZero() {
				t.Errorf("%s %s: %v %v", endpoint, name, who, token)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s %s: took %v", endpoint, name, took)
			}
			if n := f.server.Log().Count(endpoint) - before; endpoint == standin.AccessToken && n != 1 {
				t.Errorf("%s: the code went out %d times", name, n)
			}
			f.server.Heal()
		}
	}
}

func TestOnlyWhatBreaksAtOnceIsAskedAgain(t *testing.T) {
	f := start(t, within(time.Second))
	_, token := f.signIn("Ada")
	me := list(t, "login:ada")
	for name, want := range map[string]int{"down": 3, "half": 3, "503": 3, "proxy's 502": 3, "hang": 1, "slow": 1, "500": 1, "limit": 1, "huge": 1, "malformed": 1} {
		before := f.server.Log().Count(standin.User)
		f.fail(failing(standin.User)[name])
		_, err := f.client.Allowed(t.Context(), token, me)
		wantOutage(t, name, err)
		// net/http itself asks once more on a kept connection that is cut before a byte of the answer came.
		got := f.server.Log().Count(standin.User) - before
		if got != want && (name != "down" || got < want || got > 2*want) {
			t.Errorf("%s: asked %d times, want %d", name, got, want)
		}
	}
	f.fail(standin.Failure{Endpoint: standin.User, Kind: standin.Down, Times: 2})
	if v, err := f.patient.Allowed(t.Context(), token, me); err != nil || !v.Allowed {
		t.Errorf("two cut connections were not got over: %+v %v", v, err)
	}
}

func TestNobodyListens(t *testing.T) {
	f := start(t)
	_, token := f.signIn("Ada")
	p, a := f.answer("Ada")
	f.http.Close()
	_, _, err := f.client.Finish(t.Context(), p, a)
	wantOutage(t, "finish", err)
	v, err := f.client.Allowed(t.Context(), token, list(t, "login:ada"))
	wantOutage(t, "allowed", err)
	if v.Allowed {
		t.Error("allowed without an answer")
	}
	wantOutage(t, "revoke", f.client.Revoke(t.Context(), token))
}

func TestCertificateThatNobodyKnows(t *testing.T) {
	h := httptest.NewUnstartedServer(http.NotFoundHandler())
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	defer h.Close()
	c, err := github.New(github.Config{BaseURL: h.URL, ClientID: clientID, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, p, _ := c.Begin(back)
	_, _, err = c.Finish(t.Context(), p, github.Answer{Code: "c", State: p.State})
	wantOutage(t, "unknown certificate", err)
	if !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

// TestNothingIsCarriedElsewhere: a redirect of any endpoint is followed nowhere.
func TestNothingIsCarriedElsewhere(t *testing.T) {
	visits := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { visits <- r.URL.Path }))
	defer elsewhere.Close()
	f := start(t)
	_, token := f.signIn("Ada")
	for _, status := range []int{301, 302, 307, 308} {
		for _, endpoint := range []string{standin.AccessToken, standin.User, standin.OrgMembership, standin.DeleteToken} {
			p, a := f.answer("Ada")
			f.fail(standin.Failure{Endpoint: endpoint, Kind: standin.Redirect, Status: status, Location: elsewhere.URL + "/" + endpoint})
			_, _, err := f.client.Finish(t.Context(), p, a)
			_, err2 := f.client.Allowed(t.Context(), token, list(t, "org:acme"))
			if err3 := f.client.Revoke(t.Context(), token); err == nil && err2 == nil && err3 == nil {
				t.Errorf("%s %d went well", endpoint, status)
			}
			f.server.Heal()
			_, token = f.signIn("Ada")
		}
	}
	if len(visits) > 0 {
		t.Errorf("%s was visited", <-visits)
	}
}

func TestTheAskerLeaves(t *testing.T) {
	f := start(t)
	p, a := f.answer("Ada")
	f.fail(standin.Failure{Endpoint: standin.AccessToken, Kind: standin.Hang})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := f.client.Finish(ctx, p, a)
		done <- err
	}()
	for f.server.Log().Count(standin.AccessToken) == 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	cancel()
	err := <-done
	wantOutage(t, "left", err)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyAtATime(t *testing.T) {
	f := start(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			login, id := "Ada", int64(ada)
			if i%2 == 1 {
				login, id = "bob", bob
			}
			to, p, err := f.client.Begin(back)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := standin.Visit(t.Context(), f.browser, to, login)
			if err != nil {
				t.Error(err)
				return
			}
			who, token, err := f.client.Finish(t.Context(), p, github.AnswerFrom(got.Query()))
			if err != nil || who.ID != id {
				t.Errorf("%s is %+v: %v", login, who, err)
				return
			}
			if v, err := f.client.Allowed(t.Context(), token, list(t, "team:acme/platform")); err != nil || v.Allowed != (id == ada) {
				t.Errorf("%s: %+v %v", login, v, err)
			}
		})
	}
	wg.Wait()
}
