package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	standin "claude-hub/internal/standin/github"
)

const (
	redirectURL = "http://127.0.0.1:9/api/auth/github/callback"
	folk        = `{"app": {"clientID": "Iv-standin", "redirects": ["` + redirectURL + `"]},
		"people": [{"id": 1001, "login": "ada", "name": "Ada L."}, {"id": 1002, "login": "bob"}, {"id": 1003, "login": "eve"}]}`
)

// town is a Hub that people sign in to at a stand-in for GitHub.
type town struct {
	*runnertest.Hub
	t   *testing.T
	far *standin.Server
	log *syncBuffer
}

func newTown(t *testing.T) *town {
	t.Helper()
	script, err := standin.ParseScript([]byte(folk))
	if err != nil {
		t.Fatal(err)
	}
	far, err := standin.New(standin.Options{Script: script, ClientSecret: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(far.Handler())
	t.Cleanup(srv.Close)
	client, err := github.New(github.Config{BaseURL: srv.URL, ClientID: "Iv-standin", ClientSecret: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	allow, err := github.ParseAllowList("login:ada login:bob")
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	h := runnertest.NewHub(t, log, patient, func(f *fleet.Options, w *web.Options) {
		f.GitHub, f.Allow, f.Redirect = client, allow, redirectURL
		w.GitHubURL = srv.URL
	})
	return &town{h, t, far, log}
}

// get asks without following, with cookies.
func (w *town) get(path string, cookies ...*http.Cookie) hop {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range cookies {
		req.AddCookie(c)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site") // as it is when one comes back from GitHub
	res, err := walker.Transport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	return hop{res.StatusCode, res.Header, res.Cookies()}
}

// hop is an answer that sends on.
type hop struct {
	Status  int
	Header  http.Header
	Cookies []*http.Cookie
}

func cookieNamed(t *testing.T, res hop, name string) *http.Cookie {
	t.Helper()
	for _, c := range res.Cookies {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no cookie %s: %v", name, res.Header)
	return nil
}

// begin goes as far as GitHub, and back to the Hub's door.
func (w *town) begin(login, next string) (back string, pending *http.Cookie) {
	w.t.Helper()
	res := w.get("/api/auth/github/start?next=" + url.QueryEscape(next))
	if res.Status != http.StatusFound {
		w.t.Fatalf("start: %d", res.Status)
	}
	pending = cookieNamed(w.t, res, "claude_hub_sign_in")
	if !pending.HttpOnly || pending.SameSite != http.SameSiteLaxMode || pending.Path != "/api/auth" || pending.MaxAge != 600 || pending.Secure {
		w.t.Errorf("%+v", pending)
	}
	at, err := standin.Visit(w.t.Context(), walker, res.Header.Get("Location"), login)
	if err != nil {
		w.t.Fatal(err)
	}
	return at.RequestURI(), pending
}

func (w *town) signIn(login string) *runnertest.Browser {
	w.t.Helper()
	back, pending := w.begin(login, "/sessions/x?tab=diff")
	res := w.get(back, pending)
	if at := res.Header.Get("Location"); res.Status != http.StatusFound || at != "/sessions/x?tab=diff" {
		w.t.Fatalf("callback: %d to %s", res.Status, at)
	}
	if c := cookieNamed(w.t, res, "claude_hub_sign_in"); c.MaxAge >= 0 || c.Path != "/api/auth" {
		w.t.Errorf("the cookie of the way stays: %+v", c)
	}
	b := &runnertest.Browser{Hub: w.Hub, Cookie: cookieNamed(w.t, res, "claude_hub")}
	b.Person = runnertest.Get[web.Me](b, "/api/me").Person
	return b
}

func TestSigningInAtGitHub(t *testing.T) {
	w := newTown(t)
	var hub web.HubInfo
	_, _, body := send(t, "GET", w.URL+"/api/hub", "", nil, nil)
	if err := json.Unmarshal([]byte(body), &hub); err != nil || hub.Mode != "github" || hub.GitHub == nil || !strings.HasPrefix(hub.GitHub.URL, "http://127.0.0.1:") || hub.Setup {
		t.Errorf("%s", body)
	}
	ada := w.signIn("ada")
	if ada.Person.Login != "ada" || ada.Person.GitHub != 1001 || ada.Person.Role != claudehub.RoleMember {
		t.Errorf("%+v", ada.Person)
	}
	code, made, err := w.Fleet.NewSetupCode(t.Context())
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if _, _, body := send(t, "GET", w.URL+"/api/hub", "", nil, nil); !strings.Contains(body, `"setup":true`) {
		t.Errorf("a code waits: %s", body)
	}
	if a := ada.Do("POST", "/api/setup", map[string]string{"code": claudehub.NewToken(claudehub.SetupToken).Reveal()}); a.Status != http.StatusForbidden {
		t.Errorf("another code: %d %s", a.Status, a.Body)
	}
	if a := ada.Do("POST", "/api/setup", map[string]string{"code": " " + code.Reveal() + "\n"}); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"role":"admin"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := w.signIn("bob").Do("POST", "/api/setup", map[string]string{"code": code.Reveal()}); a.Status != http.StatusForbidden {
		t.Errorf("used by another: %d %s", a.Status, a.Body)
	}
	if _, _, body := send(t, "GET", w.URL+"/api/hub", "", nil, nil); !strings.Contains(body, `"setup":false`) {
		t.Errorf("no code waits: %s", body)
	}
	if status, _, _ := send(t, "POST", w.URL+"/api/sign-in", "application/json", strings.NewReader(`{"token":"`+w.Link(ada.Person).Reveal()+`"}`), nil); status != http.StatusUnauthorized {
		t.Errorf("a sign-in link of local mode: %d", status)
	}
}

// TestWhatGoesWrongAtGitHubIsACode: nothing that a stranger wrote into an address comes back in one, and every try needs
// the cookie that it began with.
func TestWhatGoesWrongAtGitHubIsACode(t *testing.T) {
	w := newTown(t)
	back, pending := w.begin("ada", "/")
	other, otherPending := w.begin("ada", "/")
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	forged := url.Values{"code": q["code"], "state": {"forged"}}
	outside, outsidePending := w.begin("eve", "/")
	declined, declinedPending := w.begin("", "/")
	for name, c := range map[string]struct {
		path    string
		cookies []*http.Cookie
	}{
		"no cookie":            {back, nil},
		"another's cookie":     {back, []*http.Cookie{otherPending}},
		"a forged cookie":      {back, []*http.Cookie{{Name: pending.Name, Value: "AAAA"}}},
		"a forged state":       {u.Path + "?" + forged.Encode(), []*http.Cookie{pending}},
		"nothing":              {u.Path, []*http.Cookie{pending}},
		"an error of its own":  {u.Path + "?error=%3Cscript%3E&error_description=evil.example&state=" + q.Get("state"), []*http.Cookie{pending}},
		"not on the list":      {outside, []*http.Cookie{outsidePending}},
		"declined":             {declined, []*http.Cookie{declinedPending}},
		"a code of its own":    {u.Path + "?code=evil.example&state=" + q.Get("state"), []*http.Cookie{pending}},
		"many of one argument": {u.Path + "?code=a&code=b&state=c&state=d", []*http.Cookie{pending}},
	} {
		res := w.get(c.path, c.cookies...)
		at := res.Header.Get("Location")
		code, ok := strings.CutPrefix(at, "/sign-in?problem=")
		if res.Status != http.StatusFound || !ok || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" || len(code) > 20 {
			t.Errorf("%s: %d to %q", name, res.Status, at)
		}
		for _, c := range res.Cookies {
			if c.Name == "claude_hub" {
				t.Errorf("%s: signed in", name)
			}
		}
	}
	if res := w.get(other, otherPending); res.Header.Get("Location") != "/" {
		t.Errorf("the good one, after all that: %v", res.Header)
	}
	if res := w.get(other, otherPending); !strings.HasPrefix(res.Header.Get("Location"), "/sign-in?problem=") {
		t.Errorf("the good one again: %v", res.Header)
	}
}

func TestNextIsAPathOfThisHub(t *testing.T) {
	w := newTown(t)
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, `\/evil.example`, "/\t/evil.example", "javascript:alert(1)",
		"/%0d%0aSet-Cookie:x", "/\r\nx: y", "", "sessions", "/" + strings.Repeat("a", 5000), "http:/evil.example", "/..//evil.example", "/.//evil.example"} {
		back, pending := w.begin("ada", next)
		at := w.get(back, pending).Header.Get("Location")
		to, err := url.Parse(w.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := to.Parse(at)
		if err != nil || got.Host != to.Host || !strings.HasPrefix(at, "/") || strings.HasPrefix(at, "//") || strings.ContainsAny(at, "\\\t\r\n") {
			t.Errorf("%q leads to %q", next, at)
		}
	}
}
