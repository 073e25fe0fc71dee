package github_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clientID = "Iv-standin"
	secret   = "the-client-secret-of-the-test-alone"
	back     = "http://127.0.0.1:9/signin/github"
	ada      = 1001
	bob      = 1002
)

const script = `{
  "app": {"clientID": "Iv-standin", "redirects": ["http://127.0.0.1:9/signin/github"]},
  "people": [{"id": 1001, "login": "Ada", "name": "Ada L.", "avatarURL": "https://pictures.example/ada"}, {"id": 1002, "login": "bob"}],
  "orgs": [
    {"id": 501, "login": "Acme", "members": [{"person": 1001}], "teams": [{"slug": "platform", "members": [{"person": 1001}]}]},
    {"id": 502, "login": "other", "members": [{"person": 1002}]}],
  "repos": [{"id": 7001, "name": "Acme/app", "readers": [1001]}]
}`

// far is GitHub's stand-in behind a real connection, and the Hub's client of it.
type far struct {
	*testing.T
	server  *standin.Server
	http    *httptest.Server
	client  *github.Client
	patient *github.Client // the same with all time in the world, for what has to go well on a busy machine
	browser *http.Client
	seen    *seen
}

// seen notes every address that the client asks.
type seen struct {
	next http.RoundTripper
	mu   sync.Mutex // guards urls
	urls []string
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.urls = append(s.urls, r.URL.String())
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}

type option func(*github.Config, string)

func publicLayout(c *github.Config, base string) { c.APIURL = base }
func within(d time.Duration) option              { return func(c *github.Config, _ string) { c.Timeout = d } }

func start(t *testing.T, options ...option) far {
	t.Helper()
	s, err := standin.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := standin.New(standin.Options{Script: s, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	wire := &http.Transport{}
	f := far{T: t, server: server, http: h, browser: &http.Client{Transport: wire}, seen: &seen{next: wire}}
	config := github.Config{
		BaseURL: h.URL, ClientID: clientID, ClientSecret: secret, Scopes: []string{"read:org"}, Transport: f.seen, Timeout: 20 * time.Second,
	}
	for _, o := range options {
		o(&config, h.URL)
	}
	if f.client, err = github.New(config); err != nil {
		t.Fatal(err)
	}
	config.Timeout = time.Minute
	if f.patient, err = github.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wire.CloseIdleConnections(); h.CloseClientConnections(); h.Close() })
	return f
}

// answer sends a person's browser to GitHub and returns what it brings back.
func (f far) answer(login string) (github.Pending, github.Answer) {
	f.Helper()
	to, pending, err := f.client.Begin(back)
	if err != nil {
		f.Fatal(err)
	}
	got, err := standin.Visit(f.Context(), f.browser, to, login)
	if err != nil {
		f.Fatal(err)
	}
	return pending, github.AnswerFrom(got.Query())
}

func (f far) signIn(login string) (github.Identity, github.Token) {
	f.Helper()
	p, a := f.answer(login)
	who, token, err := f.patient.Finish(f.Context(), p, a)
	if err != nil {
		f.Fatal(err)
	}
	return who, token
}

func (f far) fail(failure standin.Failure) {
	f.Helper()
	if err := f.server.Fail(failure); err != nil {
		f.Fatal(err)
	}
}

func (f far) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wantOutage checks that an error says "cannot tell" and nothing else.
func wantOutage(t *testing.T, what string, err error) {
	t.Helper()
	if _, ok := github.AsOutage(err); !ok || claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("%s: %v (code %s), want an outage", what, err, claudehub.CodeOf(err))
	}
}

func list(t *testing.T, text string) github.AllowList {
	t.Helper()
	a, err := github.ParseAllowList(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// noSecret checks that nothing of what is printed holds a secret.
func noSecret(t *testing.T, what string, secrets []string, printed ...any) {
	t.Helper()
	for _, v := range printed {
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(form, v)
			for _, s := range secrets {
				if s != "" && (strings.Contains(text, s) || strings.Contains(text, url.QueryEscape(s))) {
					t.Errorf("%s: %s prints a secret: %s", what, form, text)
				}
			}
		}
	}
}

func never(context.Context, github.Token) error { return fmt.Errorf("nothing was to be kept") }
