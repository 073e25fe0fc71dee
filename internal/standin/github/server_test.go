package github_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/oauth2"

	"claude-hub/internal/standin/github"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clientID = "Iv-standin"
	secret   = "the-secret-of-the-test-alone"
	back     = "http://127.0.0.1:9/signin/github"
)

const script = `{
  "app": {"clientID": "Iv-standin", "redirects": ["http://127.0.0.1:9/signin/github"]},
  "people": [{"id": 1001, "login": "ada", "name": "Ada L.", "avatarURL": "https://pictures.example/ada"}, {"id": 1002, "login": "bob"}],
  "orgs": [{"id": 501, "login": "acme",
    "members": [{"person": 1001}, {"person": 1002, "state": "pending"}],
    "teams": [{"slug": "platform", "members": [{"person": 1001}]}]}],
  "installations": [{"id": 9001, "account": "acme", "people": [1001]}]
}`

// far is a stand-in behind a real connection.
type far struct {
	t      *testing.T
	server *github.Server
	url    string
	http   *http.Client
	oauth  oauth2.Config
}

func start(t *testing.T) far {
	t.Helper()
	s, err := github.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := github.New(github.Options{Script: s, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	c := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	t.Cleanup(func() { c.CloseIdleConnections(); h.CloseClientConnections(); h.Close() })
	return far{t: t, server: server, url: h.URL, http: c, oauth: oauth2.Config{
		ClientID: clientID, ClientSecret: secret, RedirectURL: back, Scopes: []string{"read:org"},
		Endpoint: oauth2.Endpoint{
			AuthURL: h.URL + "/login/oauth/authorize", TokenURL: h.URL + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams,
		},
	}}
}

func (f far) ctx() context.Context {
	return context.WithValue(f.t.Context(), oauth2.HTTPClient, f.http)
}

// code signs a person in and returns the code that comes back.
func (f far) code(login, verifier string) string {
	f.t.Helper()
	to, err := github.Visit(f.ctx(), f.http, f.oauth.AuthCodeURL("a state & more", oauth2.S256ChallengeOption(verifier)), login)
	if err != nil {
		f.t.Fatal(err)
	}
	if got := to.Query().Get("state"); got != "a state & more" || !strings.HasPrefix(to.String(), back+"?") {
		f.t.Fatalf("sent back to %s with state %q", to.Path, got)
	}
	return to.Query().Get("code")
}

func (f far) signIn(login string) *oauth2.Token {
	f.t.Helper()
	v := oauth2.GenerateVerifier()
	token, err := f.oauth.Exchange(f.ctx(), f.code(login, v), oauth2.VerifierOption(v))
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// reply is an answer without its body.
type reply struct {
	StatusCode int
	Header     http.Header
}

func (f far) call(method, path, token, body string) (reply, string) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	switch {
	case token == "app":
		req.SetBasicAuth(clientID, secret)
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := f.http.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if res.Header.Get("X-Stand-In") != "github" {
		f.t.Errorf("%s %s does not say that it is a stand-in", method, path)
	}
	return reply{res.StatusCode, res.Header}, string(b)
}

func (f far) want(method, path, token, body string, status int, holds string) {
	f.t.Helper()
	if res, got := f.call(method, path, token, body); res.StatusCode != status || !strings.Contains(got, holds) {
		f.t.Errorf("%s %s: %d %s, want %d and %q", method, path, res.StatusCode, got, status, holds)
	}
}

func TestSignInBothLayouts(t *testing.T) {
	f := start(t)
	token := f.signIn("ada").AccessToken
	for _, base := range []string{"", "/api/v3"} {
		f.want("GET", base+"/user", token, "", 200, `"login":"ada"`)
		f.want("GET", base+"/user", token, "", 200, `"id":1001`)
		f.want("GET", base+"/user/orgs", token, "", 200, `"login":"acme"`)
		f.want("GET", base+"/user/memberships/orgs/ACME", token, "", 200, `"state":"active"`)
		f.want("GET", base+"/user/memberships/orgs/other", token, "", 404, "Not Found")
		f.want("GET", base+"/orgs/acme/teams/platform/memberships/Ada", token, "", 200, `"state":"active"`)
		f.want("GET", base+"/orgs/acme/teams/platform/memberships/bob", token, "", 404, "")
		f.want("GET", base+"/orgs/acme/teams/none/memberships/ada", token, "", 404, "")
		f.want("GET", base+"/user/installations", token, "", 200, `"total_count":1`)
		f.want("GET", base+"/user", "gho_wrong", "", 401, "Bad credentials")
		f.want("GET", base+"/user", "", "", 401, "Bad credentials")
	}
	other := f.signIn("bob").AccessToken
	f.want("GET", "/user/memberships/orgs/acme", other, "", 200, `"state":"pending"`)
	f.want("GET", "/user/orgs", other, "", 200, "[]")
	f.want("GET", "/orgs/acme/teams/platform/memberships/ada", other, "", 404, "")
	f.want("GET", "/nothing", other, "", 404, "Not Found")
}

func TestScopesAreAsked(t *testing.T) {
	f := start(t)
	f.oauth.Scopes = nil
	token := f.signIn("ada").AccessToken
	f.want("GET", "/user", token, "", 200, `"id":1001`)
	f.want("GET", "/user/memberships/orgs/acme", token, "", 403, "read:org")
}

func TestCodeIsGoodOnceForItsVerifierItsRedirectAndAWhile(t *testing.T) {
	f := start(t)
	exchange := func(code, verifier string) error {
		_, err := f.oauth.Exchange(f.ctx(), code, oauth2.VerifierOption(verifier))
		return err
	}
	refused := func(what string, err error, code string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	v, other := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	code := f.code("ada", v)
	if err := exchange(code, v); err != nil {
		t.Fatal(err)
	}
	refused("used again", exchange(code, v), "bad_verification_code")
	code = f.code("ada", v)
	refused("wrong verifier", exchange(code, other), "bad_verification_code")
	refused("right verifier after a wrong one", exchange(code, v), "bad_verification_code")
	_, err := f.oauth.Exchange(f.ctx(), f.code("ada", v))
	refused("no verifier", err, "bad_verification_code")
	refused("made up", exchange("made-up", v), "bad_verification_code")
	code = f.code("ada", v)
	f.server.Advance(11 * time.Minute)
	refused("late", exchange(code, v), "bad_verification_code")
	code = f.code("ada", v)
	f.oauth.RedirectURL = back + "/"
	refused("other redirect", exchange(code, v), "redirect_uri_mismatch")
	f.oauth.RedirectURL = back
	f.oauth.ClientSecret = "wrong"
	refused("wrong secret", exchange(f.code("ada", v), v), "incorrect_client_credentials")
}

func TestWrongQuestionsGetAPageAndNoRedirect(t *testing.T) {
	f := start(t)
	good := url.Values{
		"client_id": {clientID}, "redirect_uri": {back}, "response_type": {"code"}, "state": {"s"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "code_challenge_method": {"S256"},
	}
	f.want("GET", "/login/oauth/authorize?"+good.Encode(), "", "", 200, "not GitHub")
	for name, value := range map[string]string{
		"client_id": "other", "redirect_uri": back + "/more", "response_type": "token", "code_challenge": "short", "code_challenge_method": "plain",
	} {
		bad := url.Values{}
		for k, v := range good {
			bad[k] = v
		}
		bad.Set(name, value)
		for _, method := range []string{"GET", "POST"} {
			f.want(method, "/login/oauth/authorize?"+bad.Encode(), "", "", 400, "stand-in")
		}
	}
	f.want("POST", "/login/oauth/authorize?"+good.Encode(), "", "", 400, "Nobody here")
}

func TestDeclining(t *testing.T) {
	f := start(t)
	to, err := github.Visit(f.ctx(), f.http, f.oauth.AuthCodeURL("s"), "")
	if err != nil || to.Query().Get("error") != "access_denied" || to.Query().Get("state") != "s" || to.Query().Has("code") {
		t.Error(to, err)
	}
	if _, err := github.Visit(f.ctx(), f.http, f.oauth.AuthCodeURL("s"), "nobody"); err == nil {
		t.Error("a button of nobody was pressed")
	}
}

func TestRenamedLoginKeepsItsIDAndTokens(t *testing.T) {
	f := start(t)
	token := f.signIn("ada").AccessToken
	if err := f.server.SetPerson(github.Person{ID: 1001, Login: "ada-new"}); err != nil {
		t.Fatal(err)
	}
	if err := f.server.SetPerson(github.Person{ID: 1002, Login: "ADA-new"}); err == nil {
		t.Error("a taken login was given away")
	}
	if err := f.server.SetPerson(github.Person{ID: 1002, Login: "ada"}); err != nil {
		t.Fatal(err)
	}
	f.want("GET", "/user", token, "", 200, `"login":"ada-new"`)
	f.want("GET", "/user", token, "", 200, `"id":1001`)
	f.want("GET", "/user", f.signIn("ada").AccessToken, "", 200, `"id":1002`)
	f.want("GET", "/orgs/acme/teams/platform/memberships/ada-new", token, "", 200, "active")
}

func TestTokensExpireRenewAndEnd(t *testing.T) {
	f := start(t)
	if err := f.server.SetApp(github.App{Redirects: []string{back}, TokenLifeSeconds: 3600}); err != nil {
		t.Fatal(err)
	}
	token := f.signIn("ada")
	if token.RefreshToken == "" || time.Until(token.Expiry) > time.Hour || time.Until(token.Expiry) < 50*time.Minute {
		t.Fatalf("expiry %v", token.Expiry)
	}
	f.want("POST", "/applications/"+clientID+"/token", "app", `{"access_token":"`+token.AccessToken+`"}`, 200, `"login":"ada"`)
	f.server.Advance(2 * time.Hour)
	f.want("GET", "/user", token.AccessToken, "", 401, "")
	renew := func(refresh string) (*oauth2.Token, error) {
		return f.oauth.TokenSource(f.ctx(), &oauth2.Token{RefreshToken: refresh}).Token()
	}
	fresh, err := renew(token.RefreshToken)
	if err != nil || fresh.RefreshToken == token.RefreshToken {
		t.Fatal(err)
	}
	if _, err := renew(token.RefreshToken); err == nil {
		t.Error("a refresh token was good twice")
	}
	f.want("GET", "/user", fresh.AccessToken, "", 200, "ada")
	f.want("DELETE", "/applications/"+clientID+"/token", "app", `{"access_token":"`+fresh.AccessToken+`"}`, 204, "")
	f.want("DELETE", "/applications/"+clientID+"/token", "app", `{"access_token":"`+fresh.AccessToken+`"}`, 422, "")
	f.want("POST", "/applications/"+clientID+"/token", "app", `{"access_token":"`+fresh.AccessToken+`"}`, 404, "")
	f.want("DELETE", "/applications/"+clientID+"/token", "", `{"access_token":"x"}`, 404, "")
	f.want("DELETE", "/applications/"+clientID+"/token", "app", `{`, 400, "")
	f.want("GET", "/user", fresh.AccessToken, "", 401, "")
	if _, err := renew(fresh.RefreshToken); err == nil {
		t.Error("a revoked token was renewed")
	}
	again := f.signIn("ada")
	if n := f.server.Revoke(1001); n != 1 {
		t.Errorf("%d tokens ended", n)
	}
	f.want("GET", "/user", again.AccessToken, "", 401, "")
}

func TestFailures(t *testing.T) {
	f := start(t)
	token := f.signIn("ada").AccessToken
	fail := func(failure github.Failure) {
		t.Helper()
		if err := f.server.Fail(failure); err != nil {
			t.Fatal(err)
		}
	}
	fail(github.Failure{Endpoint: github.User, Kind: github.Status, Status: 403, Times: 2})
	f.want("GET", "/user", token, "", 403, "message")
	f.want("GET", "/user/orgs", token, "", 200, "acme")
	f.want("GET", "/user", token, "", 403, "message")
	f.want("GET", "/user", token, "", 200, "ada")
	fail(github.Failure{Endpoint: github.Every, Kind: github.Revoked})
	f.want("GET", "/user/orgs", token, "", 401, "Bad credentials")
	fail(github.Failure{Endpoint: github.Every})
	fail(github.Failure{Endpoint: github.User, Kind: github.RateLimit, RetryAfter: 30})
	if res, _ := f.call("GET", "/user", token, ""); res.StatusCode != 429 || res.Header.Get("Retry-After") != "30" || res.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Error(res.StatusCode, res.Header)
	}
	fail(github.Failure{Endpoint: github.User, Kind: github.Secondary, RetryAfter: 7})
	f.want("GET", "/user", token, "", 403, "secondary-rate-limits")
	fail(github.Failure{Endpoint: github.User, Kind: github.Foreign})
	f.want("GET", "/user", token, "", 404, "<html>")
	fail(github.Failure{Endpoint: github.User, Kind: github.Malformed})
	if _, body := f.call("GET", "/user", token, ""); json.Valid([]byte(body)) {
		t.Errorf("%q is whole", body)
	}
	fail(github.Failure{Endpoint: github.User, Kind: github.Answer, Body: `{"id":"x"}`})
	f.want("GET", "/user", token, "", 200, `{"id":"x"}`)
	fail(github.Failure{Endpoint: github.User, Kind: github.Slow, DelayMS: 1})
	f.want("GET", "/user", token, "", 200, "ada")
	for _, kind := range []github.Kind{github.Down, github.Half, github.Hang} {
		fail(github.Failure{Endpoint: github.User, Kind: kind})
		if body, err := f.raw(token, 200*time.Millisecond); err == nil {
			t.Errorf("%s: answered %q", kind, body)
		}
	}
	fail(github.Failure{Endpoint: github.User, Kind: github.Huge})
	if body, err := f.raw(token, 20*time.Second); err != nil || len(body) < 64<<20 {
		t.Errorf("huge is %d bytes: %v", len(body), err)
	}
	f.server.Heal()
	f.want("GET", "/user", token, "", 200, "ada")
	for _, bad := range []github.Failure{{Endpoint: "x", Kind: github.Down}, {Endpoint: github.User, Kind: "x"}, {Endpoint: github.User, Kind: github.Status, Status: 99}} {
		if f.server.Fail(bad) == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestHangingAfterABodyEndsWhenTheCallerLeaves: or a test's end would wait for it.
func TestHangingAfterABodyEndsWhenTheCallerLeaves(t *testing.T) {
	f := start(t)
	for _, failure := range []github.Failure{
		{Endpoint: github.AccessToken, Kind: github.Hang}, {Endpoint: github.AccessToken, Kind: github.Slow, DelayMS: 3_600_000},
	} {
		if err := f.server.Fail(failure); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(f.ctx(), 200*time.Millisecond)
		if _, err := f.oauth.Exchange(ctx, "code"); err == nil {
			t.Errorf("%s: answered", failure.Kind)
		}
		cancel()
	}
}

func (f far) raw(token string, within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", f.url+"/user", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+token)
	res, err := f.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

func TestControl(t *testing.T) {
	f := start(t)
	token := f.signIn("ada").AccessToken
	do := func(path, body string, status int, holds string) {
		t.Helper()
		f.want("POST", "/standin/"+path, "", body, status, holds)
	}
	do("member", `{"org":"acme","person":1001,"state":""}`, 200, "")
	f.want("GET", "/user/memberships/orgs/acme", token, "", 404, "")
	do("member", `{"org":"acme","person":1001,"state":"pending"}`, 200, "")
	f.want("GET", "/user/memberships/orgs/acme", token, "", 200, "pending")
	do("member", `{"org":"acme","person":1002,"state":"active"}`, 200, "")
	do("team", `{"org":"acme","team":"platform","person":1002,"state":"active"}`, 200, "")
	f.want("GET", "/orgs/acme/teams/platform/memberships/bob", f.signIn("bob").AccessToken, "", 200, "active")
	do("person", `{"id":1001,"login":"countess"}`, 200, "")
	f.want("GET", "/user", token, "", 200, "countess")
	do("fail", `{"endpoint":"user","kind":"status","status":404,"times":1}`, 200, "")
	f.want("GET", "/user", token, "", 404, "")
	do("fail", `{"endpoint":"user","kind":"down"}`, 200, "")
	do("heal", `{}`, 200, "")
	f.want("GET", "/user", token, "", 200, "countess")
	do("app", `{"redirects":["http://127.0.0.1:8/x"],"tokenLifeSeconds":60}`, 200, "")
	f.want("GET", "/standin/script", "", "", 200, `"redirects":["http://127.0.0.1:8/x"]`)
	do("clock", `{"advanceSeconds":5}`, 200, "")
	do("revoke", `{}`, 200, `"revoked":2`)
	f.want("GET", "/user", token, "", 401, "")
	for path, body := range map[string]string{
		"member": `{"org":"none","person":1001,"state":"active"}`, "team": `{"org":"acme","team":"none","person":1001,"state":"active"}`,
		"fail": `{"endpoint":"x"}`, "person": `{"id":0}`, "app": `{"redirects":["x"]}`, "revoke": `{`,
	} {
		do(path, body, 400, "stand-in")
	}
	do("fail", `{"endpoint":"`+strings.Repeat("x", 70<<10)+`"}`, 413, "")
	f.want("POST", "/standin/heal", "", "", 415, "Content-Type")
}

func TestForeignNamesAreTurnedAway(t *testing.T) {
	f := start(t)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", f.url+"/user", nil)
	req.Host = "rebound.example"
	res, err := f.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Error(res.StatusCode)
	}
}

func TestLogHasNoSecret(t *testing.T) {
	f := start(t)
	v := oauth2.GenerateVerifier()
	code := f.code("ada", v)
	token, err := f.oauth.Exchange(f.ctx(), code, oauth2.VerifierOption(v))
	if err != nil {
		t.Fatal(err)
	}
	f.want("GET", "/user", token.AccessToken, "", 200, "ada")
	f.want("POST", "/applications/"+clientID+"/token", "app", `{"access_token":"`+token.AccessToken+`"}`, 200, "")
	log := f.server.Log()
	if log.Count(github.Authorize) != 2 || log.Count(github.AccessToken) != 1 || log.Count(github.User) != 1 {
		t.Errorf("%+v", log)
	}
	for _, q := range log.Requests {
		if q.Outcome != "answered" || (q.Endpoint == github.AccessToken && !q.PKCE) || (q.Endpoint == github.User && q.Person != 1001) {
			t.Errorf("%+v", q)
		}
	}
	_, text := f.call("GET", "/standin/log", "", "")
	for _, s := range []string{secret, code, v, token.AccessToken, "a state"} {
		if strings.Contains(text, s) {
			t.Errorf("the log holds a secret: %s", text)
		}
	}
}

func TestScriptsThatContradictThemselves(t *testing.T) {
	for _, bad := range []string{
		``, `{`, `{} {}`, `{"app":{}}`, `{"app":{"clientID":"x"},"more":1}`, `{"app":{"clientID":"x","redirects":["/x"]}}`,
		`{"app":{"clientID":"x","codeLifeSeconds":-1}}`, `{"app":{"clientID":"x"},"people":[{"id":1}]}`,
		`{"app":{"clientID":"x"},"people":[{"id":1,"login":"a"},{"id":2,"login":"A"}]}`,
		`{"app":{"clientID":"x"},"orgs":[{"login":"a"}]}`, `{"app":{"clientID":"x"},"orgs":[{"id":1,"login":"a","members":[{"person":1}]}]}`,
		`{"app":{"clientID":"x"},"orgs":[{"id":1,"login":"a","teams":[{}]}]}`,
	} {
		if _, err := github.ParseScript([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
