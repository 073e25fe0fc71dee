package fleet_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
	standin "claude-hub/internal/standin/github"
)

const (
	back     = "http://127.0.0.1:9/api/auth/github/callback"
	clientID = "Iv-standin"
	secretID = "the-client-secret-of-the-test-alone"
	browser  = "Firefox"
)

const townsfolk = `{
  "app": {"clientID": "Iv-standin", "redirects": ["http://127.0.0.1:9/api/auth/github/callback"]},
  "people": [{"id": 1001, "login": "ada", "name": "Ada L.", "avatarURL": "https://pictures.example/ada"}, {"id": 1002, "login": "bob"},
             {"id": 1003, "login": "local", "name": "Lo Cal"}, {"id": 1004, "login": "mallory"}],
  "orgs": [{"id": 501, "login": "acme", "members": [{"person": 1001}, {"person": 1002}, {"person": 1003}], "teams": []}]
}`

// town is a Hub that people sign in to with GitHub, whose stand-in is on a real connection.
type town struct {
	*rig
	far    *standin.Server
	client *github.Client
	web    *http.Client
}

func newTown(t *testing.T, r *rig) *town {
	t.Helper()
	script, err := standin.ParseScript([]byte(townsfolk))
	check(t, err)
	far, err := standin.New(standin.Options{Script: script, ClientSecret: secretID})
	check(t, err)
	h := httptest.NewServer(far.Handler())
	link := &http.Transport{}
	client, err := github.New(github.Config{BaseURL: h.URL, ClientID: clientID, ClientSecret: secretID, Scopes: []string{"read:org"},
		Transport: link, Timeout: 20 * time.Second})
	check(t, err)
	t.Cleanup(func() { link.CloseIdleConnections(); h.CloseClientConnections(); h.Close() })
	w := &town{rig: r, far: far, client: client, web: &http.Client{Transport: link}}
	r.Fleet = w.hub()
	return w
}

// hub is one more Hub process on the same database and bus.
func (w *town) hub() *fleet.Fleet { return w.hubWith(w.client) }

func (w *town) hubWith(gh fleet.GitHub) *fleet.Fleet {
	return w.hubOf(fleet.Options{Now: w.clock.now, GitHub: gh, Recheck: 15 * time.Minute})
}

// hubEvery has a real clock.
func (w *town) hubEvery(recheck time.Duration) *fleet.Fleet {
	return w.hubOf(fleet.Options{GitHub: w.client, Recheck: recheck})
}

func (w *town) hubOf(o fleet.Options) *fleet.Fleet {
	w.t.Helper()
	allow, err := github.ParseAllowList("org:acme")
	check(w.t, err)
	o.Secrets, o.Allow, o.Redirect = w.keys, allow, back
	return fleet.New(w.st, w.bus, slog.New(slog.NewTextHandler(w.log, nil)), o)
}

func eachTown(t *testing.T, test func(t *testing.T, w *town)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, st *store.Store) { test(t, newTown(t, newRig(t, st))) })
}

// begin sends a browser to GitHub and returns what it keeps, and what it comes back with.
func (w *town) begin(login, next string) (sealed string, q url.Values) {
	w.t.Helper()
	to, sealed, err := w.BeginSignIn(w.ctx, next)
	check(w.t, err)
	answer, err := standin.Visit(w.ctx, w.web, to, login)
	check(w.t, err)
	return sealed, answer.Query()
}

func (w *town) signInAs(login string) (claudehub.Person, claudehub.Token) {
	w.t.Helper()
	sealed, q := w.begin(login, "/")
	cookie, _, err := w.FinishSignIn(w.ctx, sealed, q, browser)
	check(w.t, err)
	p, _, err := w.Authenticate(w.ctx, cookie)
	check(w.t, err)
	return p, cookie
}

func (w *town) fail(f standin.Failure) {
	w.t.Helper()
	check(w.t, w.far.Fail(f))
}

func (w *town) recheck() error {
	return w.RecheckDue(w.ctx, &fleet.Backoff{})
}

func (w *town) person(id claudehub.PersonID) claudehub.Person {
	w.t.Helper()
	p, err := w.st.Read().Person(w.ctx, id)
	check(w.t, err)
	return p
}
