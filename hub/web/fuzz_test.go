package web_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/hub/screen"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The handler of a whole Hub, without a connection between: a fuzzer asks a thousand times a second.
type insider struct {
	http.Handler
	fleet  *fleet.Fleet
	me     claudehub.Person
	cookie string
	runner claudehub.Token
	id     claudehub.RunnerID
	routes []web.RouteInfo
	log    *syncBuffer
}

func newInsider(tb testing.TB) *insider {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	dir := tb.TempDir()
	st, err := store.Open(tb.Context(), "sqlite:"+filepath.Join(dir, "hub.db"))
	must(err)
	b, err := bus.Start(tb.Context(), bus.Options{})
	must(err)
	box, err := secret.Create(filepath.Join(dir, "keyset.json"))
	must(err)
	var said syncBuffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	in := &insider{routes: web.Routes(), log: &said}
	in.fleet = fleet.New(st, b, log, fleet.Options{Secrets: box})
	feeds := screen.New(screen.Options{Fleet: in.fleet, Bus: b, Log: log})
	opt := web.Options{Fleet: in.fleet, Feeds: feeds, Log: log, TrustedProxies: loopback}
	patient(nil, &opt)
	in.Handler, err = web.New(opt)
	must(err)
	tb.Cleanup(func() { b.Close(); st.Close() })
	in.me, err = in.fleet.LocalPerson(tb.Context())
	must(err)
	link, err := in.fleet.SignInLink(tb.Context())
	must(err)
	cookie, err := in.fleet.SignIn(tb.Context(), link, "fuzz", "127.0.0.1")
	must(err)
	in.cookie = cookie.Reveal()
	r, token, err := in.fleet.AddRunner(tb.Context(), in.me.ID, "fuzz")
	must(err)
	in.runner, in.id = token, r.ID
	return in
}

// ask answers like a server: what goes wrong inside is a 500, which no input may cause.
func (in *insider) ask(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	r.RemoteAddr = "127.0.0.1:9"
	rec := httptest.NewRecorder()
	in.ServeHTTP(patientRecorder{rec}, r)
	if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable {
		log := in.log.String()
		t.Fatalf("%s %s: %d %s\n%s", r.Method, r.URL.Path, rec.Code, rec.Body, log[max(0, len(log)-2000):])
	}
	if rec.Code >= 400 {
		var p web.Problem
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || p.Status != rec.Code || p.Detail == "" || p.Code == "" {
			t.Fatalf("%s %s: no problem: %s", r.Method, r.URL.Path, rec.Body)
		}
	}
	return rec
}

// patientRecorder is one that deadlines can be set on, as on a connection.
type patientRecorder struct{ *httptest.ResponseRecorder }

func (patientRecorder) SetReadDeadline(time.Time) error  { return nil }
func (patientRecorder) SetWriteDeadline(time.Time) error { return nil }

// printable is what net/http lets through as a header's value.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// FuzzBearer: no token but the one that was made opens anything.
func FuzzBearer(f *testing.F) {
	in := newInsider(f)
	_, token, err := in.fleet.CreateAPIToken(f.Context(), in.me.ID, "t", claudehub.Scopes, time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	good := token.Reveal()
	for _, seed := range []string{"", "Bearer", "Bearer ", "bearer " + good, "Bearer " + good, "Bearer  " + good, "Bearer " + good + " ", "Basic x",
		"Bearer " + good[:len(good)-1], "Bearer " + in.runner.Reveal(), "Bearer " + in.cookie, "Bearer " + strings.ToUpper(good), "\tBearer x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if !printable(header) {
			t.Skip()
		}
		for path, secret := range map[string]string{"/api/me": good, wire.StatusPath: in.runner.Reveal()} {
			method := http.MethodGet
			if path == wire.StatusPath {
				method = http.MethodPost
			}
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Header.Set("Authorization", header)
			r.Header.Set(wire.ProtocolHeader, "3")
			r.Header.Set(wire.InstanceHeader, "an-instance")
			scheme, value, _ := strings.Cut(header, " ")
			right := strings.EqualFold(scheme, "Bearer") && value == secret
			if rec := in.ask(t, r); right == (rec.Code == http.StatusUnauthorized) {
				t.Fatalf("%s with %q: %d %s", path, header, rec.Code, rec.Body)
			}
		}
	})
}

// FuzzCookies: no cookie but the one that was made opens anything.
func FuzzCookies(f *testing.F) {
	in := newInsider(f)
	good := in.cookie
	for _, seed := range []string{"", "claude_hub=", "claude_hub=" + good, "claude_hub=x; claude_hub=" + good, "claude_hub=\"" + good + "\"",
		"Claude_hub=" + good, "claude_hub =" + good, "a=b; claude_hub=" + good, "claude_hub=" + good + "x", ";;=;", "claude_hub_sign_in=" + good} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if !printable(header) {
			t.Skip()
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/me", nil)
		r.Header.Set("Cookie", header)
		if rec := in.ask(t, r); rec.Code == http.StatusOK && !strings.Contains(header, good) {
			t.Fatalf("%q opens it", header)
		}
		r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/auth/github/callback?code=x&state=y", nil)
		r.Header.Set("Cookie", header)
		rec := in.ask(t, r)
		if at := rec.Header().Get("Location"); rec.Code != http.StatusFound || !strings.HasPrefix(at, "/sign-in?problem=") || strings.Contains(at, "//") {
			t.Fatalf("%q goes to %q", header, at)
		}
	})
}

// FuzzBodies: whatever comes as the body of whichever route, the answer is one of the Hub's own.
func FuzzBodies(f *testing.F) {
	in := newInsider(f)
	th := absent()
	s, err := in.fleet.CreateSession(f.Context(), in.me.ID, fleet.NewSession{Runner: in.id})
	if err != nil {
		f.Fatal(err)
	}
	th.session = s.ID
	var posts []web.RouteInfo
	for _, rt := range in.routes {
		if rt.Method != http.MethodGet && rt.ID != "sign-out" && !slices.Contains([]string{"revoke-runner", "delete-session"}, rt.ID) {
			posts = append(posts, rt)
		}
	}
	for i, rt := range posts {
		_, body := th.body(rt, in.id)
		f.Add(uint16(i), body)
		f.Add(uint16(i), []byte(`{"text":null,"scopes":[null],"expires":"x","recipe":{"network":{}}}`))
	}
	f.Add(uint16(0), []byte(`[[[[{"a":1e999}]]]]`))
	f.Fuzz(func(t *testing.T, which uint16, body []byte) {
		rt := posts[int(which)%len(posts)]
		r := httptest.NewRequestWithContext(t.Context(), rt.Method, th.path(rt), strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		if rt.Principal == "runner" {
			r.Header.Set("Authorization", "Bearer "+in.runner.Reveal())
			r.Header.Set(wire.ProtocolHeader, "3")
			r.Header.Set(wire.InstanceHeader, "an-instance")
		} else {
			r.AddCookie(&http.Cookie{Name: "claude_hub", Value: in.cookie})
		}
		in.ask(t, r)
	})
}

// FuzzLastEventID: a place in a log that is not one is refused, or is where the whole log begins.
func FuzzLastEventID(f *testing.F) {
	in := newInsider(f)
	env, err := in.fleet.CreateEnvironment(f.Context(), in.me.ID, "e", claudehub.DefaultRecipe())
	if err != nil {
		f.Fatal(err)
	}
	build, err := in.fleet.CreateBuild(f.Context(), in.me.ID, fleet.NewBuild{Environment: env.ID, Runner: in.id})
	if err != nil {
		f.Fatal(err)
	}
	if build, err = in.fleet.CancelBuild(f.Context(), in.me.ID, build.ID); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "0", "1", "-1", "9223372036854775807", "9223372036854775808", "1e3", "0x10", " 1", "1\t", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !printable(id) {
			t.Skip()
		}
		for path, runner := range map[string]bool{"/api/builds/" + string(build.ID) + "/log": false, wire.StreamPath: true} {
			r := httptest.NewRequestWithContext(hangingUp(t), http.MethodGet, path, nil)
			r.Header.Set("Last-Event-ID", id)
			if runner {
				r.Header.Set("Authorization", "Bearer "+in.runner.Reveal())
				r.Header.Set(wire.ProtocolHeader, "3")
				r.Header.Set(wire.InstanceHeader, "an-instance")
			} else {
				r.AddCookie(&http.Cookie{Name: "claude_hub", Value: in.cookie})
			}
			in.ask(t, r)
		}
	})
}

// hangingUp is a page that goes away soon.
func hangingUp(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// FuzzForwardedFor: the address is the peer's, or one that the header has; and never one that stands left of a stranger's.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"", "203.0.113.9", "1.2.3.4, 203.0.113.9", "127.0.0.1, 127.0.0.1", "::1", "[::1]:2", ",,,", "1.2.3.4,", "x", "fe80::1%a, 127.0.0.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		at := web.AddressOf("127.0.0.1:9", []string{header}, loopback)
		if at == "" {
			t.Fatalf("%q: no address", header)
		}
		// What a stranger writes in front of what a proxy saw changes nothing.
		if got := web.AddressOf("127.0.0.1:9", []string{header + ",203.0.113.9"}, loopback); got != "203.0.113.9" {
			t.Fatalf("%q before a stranger's: %s", header, got)
		}
		if got := web.AddressOf("203.0.113.9:1", []string{header}, loopback); got != "203.0.113.9" {
			t.Fatalf("%q from who is no proxy: %s", header, got)
		}
	})
}
