package runnertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/hub/screen"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Hub is a whole Hub in this process.
type Hub struct {
	URL   string
	Fleet *fleet.Fleet
	Store *store.Store
	Bus   *bus.Bus
	Feeds *screen.Feeds
	Log   *slog.Logger

	tb     testing.TB
	change []Change
	keys   string
	dsn    string
	addr   string
	stop   func()
}

// Change is what one test's Hub is to be given otherwise.
type Change func(*fleet.Options, *web.Options)

// NewHub starts a Hub on a free port; it ends with the test. It logs to log, or nowhere.
func NewHub(tb testing.TB, log io.Writer, change ...Change) *Hub {
	tb.Helper()
	if log == nil {
		log = io.Discard
	}
	dir := tb.TempDir()
	h := &Hub{
		tb: tb, change: change, dsn: "sqlite:" + filepath.Join(dir, "hub.db"), keys: filepath.Join(dir, "keyset.json"), addr: "127.0.0.1:0",
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	h.start()
	tb.Cleanup(func() { h.Stop() })
	return h
}

// Restart stops the Hub and starts another on the same database and port.
func (h *Hub) Restart() {
	h.Stop()
	h.start()
}

// Stop ends the Hub and waits.
func (h *Hub) Stop() {
	if h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

func (h *Hub) start() {
	h.tb.Helper()
	st, err := store.Open(context.Background(), h.dsn)
	h.must(err)
	b, err := bus.Start(context.Background(), bus.Options{Log: h.Log})
	h.must(err)
	h.Store, h.Bus = st, b
	box, err := secret.Create(h.keys)
	h.must(err)
	inner, outer := fleet.Options{Secrets: box}, web.Options{Log: h.Log, Version: "test", Notice: "a test"}
	for _, change := range h.change {
		change(&inner, &outer)
	}
	h.Fleet = fleet.New(st, b, h.Log, inner)
	h.Feeds = screen.New(screen.Options{Fleet: h.Fleet, Bus: b, Log: h.Log})
	outer.Fleet, outer.Feeds = h.Fleet, h.Feeds
	handler, err := web.New(outer)
	h.must(err)
	h.must(h.Fleet.Recover(context.Background()))
	l, err := net.Listen("tcp", h.addr) //nolint:noctx // a test's own port
	h.must(err)
	h.addr = l.Addr().String()
	h.URL = "http://" + h.addr

	ctx, cancel := context.WithCancel(context.Background())
	running, stopInner := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { return h.Fleet.Run(running) })
	g.Go(func() error { return h.Feeds.Run(running) })
	g.Go(func() error {
		defer stopInner()
		return web.Serve(ctx, l, handler, nil, h.Log)
	})
	h.stop = func() {
		cancel()
		if err := g.Wait(); err != nil {
			h.tb.Errorf("the Hub ended: %v", err)
		}
		b.Close()
		st.Close()
	}
}

func (h *Hub) must(err error) {
	h.tb.Helper()
	if err != nil {
		h.tb.Fatal(err)
	}
}

// Person makes a person who can sign in.
func (h *Hub) Person(login string) claudehub.Person {
	h.tb.Helper()
	p := claudehub.Person{ID: claudehub.NewPersonID(), Login: login, Name: login, Created: time.Now()}
	h.must(h.Store.Write(context.Background(), func(q store.Q) error { return q.AddPerson(context.Background(), p) }))
	return p
}

// Link makes a sign-in link's token for a person.
func (h *Hub) Link(p claudehub.Person) claudehub.Token {
	h.tb.Helper()
	t := claudehub.NewToken(claudehub.SignInToken)
	h.must(h.Store.Write(context.Background(), func(q store.Q) error {
		return q.AddSignInLink(context.Background(), t.Hash(), p.ID, time.Now(), time.Now().Add(time.Minute))
	}))
	return t
}

// Browser is a signed-in browser.
type Browser struct {
	Hub    *Hub
	Person claudehub.Person
	Cookie *http.Cookie
	Token  claudehub.Token // an API token, in place of the cookie
}

// SignIn signs a person in as a browser does.
func (h *Hub) SignIn(p claudehub.Person) *Browser {
	h.tb.Helper()
	b := &Browser{Hub: h, Person: p}
	a := b.Do(http.MethodPost, "/api/sign-in", map[string]string{"token": h.Link(p).Reveal()})
	if a.Status != http.StatusNoContent || len(a.Cookies) != 1 {
		h.tb.Fatalf("sign in: %d %s", a.Status, a.Body)
	}
	b.Cookie = a.Cookies[0]
	return b
}

// Answer is what came back.
type Answer struct {
	Status  int
	Header  http.Header
	Cookies []*http.Cookie
	Body    []byte
}

// Do sends a request with the browser's cookie; body is sent as JSON.
func (b *Browser) Do(method, path string, body any) Answer {
	b.Hub.tb.Helper()
	var in io.Reader
	if body != nil {
		j, err := json.Marshal(body)
		b.Hub.must(err)
		in = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, b.Hub.URL+path, in) //nolint:noctx // bounded by the client
	b.Hub.must(err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.Cookie != nil {
		req.AddCookie(b.Cookie)
	}
	if !b.Token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+b.Token.Reveal())
	}
	res, err := client.Do(req)
	b.Hub.must(err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	b.Hub.must(err)
	return Answer{res.StatusCode, res.Header, res.Cookies(), out}
}

// Get decodes what a GET answers.
func Get[T any](b *Browser, path string) T {
	b.Hub.tb.Helper()
	a := b.Do(http.MethodGet, path, nil)
	var out T
	if a.Status != http.StatusOK {
		b.Hub.tb.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	b.Hub.must(json.Unmarshal(a.Body, &out))
	return out
}

var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Runner enrols a Runner of a person.
func (h *Hub) Runner(p claudehub.Person, name string) *Runner {
	h.tb.Helper()
	r, token, err := h.Fleet.AddRunner(context.Background(), p.ID, name)
	h.must(err)
	return &Runner{URL: h.URL, ID: r.ID, Token: token, Instance: claudehub.NewNonce(), Protocol: wire.Protocol, tb: h.tb}
}

// Session makes a Session on a Runner.
func (h *Hub) Session(p claudehub.Person, r *Runner) claudehub.Session {
	h.tb.Helper()
	s, err := h.Fleet.CreateSession(context.Background(), p.ID, fleet.NewSession{Runner: r.ID})
	h.must(err)
	return s
}
