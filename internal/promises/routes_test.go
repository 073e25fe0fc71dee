//go:build linux

package promises_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// route is one line of the API as the program describes it.
type route struct {
	method, path, id string
	person, runner   bool
	scope            claudehub.Scope // what lets an API token in
}

func (r route) String() string { return r.method + " " + r.path }

// routes are all that the Hub says it has.
func routes(t *testing.T) []route {
	t.Helper()
	dir, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "claude-hub"), "openapi").Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]claudehub.Scope
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var all []route
	for path, methods := range doc.Paths {
		for method, op := range methods {
			r := route{method: strings.ToUpper(method), path: path, id: op.OperationID}
			for _, way := range op.Security {
				for kind, scopes := range way {
					switch kind {
					case "person":
						r.person = true
					case "runner":
						r.runner = true
					case "token":
						r.scope = scopes[0]
					default:
						t.Fatalf("%s is for %q, which this test does not know", r, kind)
					}
				}
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.String(), b.String()) })
	if len(all) < 60 {
		t.Fatalf("the Hub describes %d routes", len(all))
	}
	return all
}

// fill puts ids of the scene into a route's path.
func (s *scene) fill(ctx context.Context, t *testing.T, path string) string {
	t.Helper()
	id := string(s.session)
	if strings.HasPrefix(path, "/api/runners/") {
		r, err := s.Runner(ctx)
		if err != nil {
			t.Fatal(err)
		}
		id = string(r.ID)
	}
	prompts, err := s.list(ctx)
	if err != nil || len(prompts) == 0 {
		t.Fatal(prompts, err)
	}
	return strings.NewReplacer("{id}", id, "{prompt}", string(prompts[0].ID), "{person}", string(claudehub.NewPersonID()),
		"{port}", "3000", "{name}", "NAME", "{user_code}", "BDFG-HJKL").Replace(path)
}

// ask sends a request with a credential and returns the status and the beginning of the answer.
func (s *scene) ask(ctx context.Context, t *testing.T, r route, body string, put func(http.Header)) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, s.URL+s.fill(ctx, t, r.path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	put(req.Header)
	resp, err := http.DefaultTransport.RoundTrip(req) // no jar, and no redirect is followed
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	defer resp.Body.Close()
	b := make([]byte, 300)
	n, _ := io.ReadFull(resp.Body, b) // a shorter answer, or a stream, is fine
	return resp.StatusCode, string(b[:n])
}

func bearer(secret string) func(http.Header) {
	return func(h http.Header) {
		h.Set("Authorization", "Bearer "+secret)
		h.Set(wire.ProtocolHeader, strconv.Itoa(wire.Protocol))
		h.Set(wire.InstanceHeader, "an-instance")
	}
}

func cookie(value string) func(http.Header) {
	return func(h http.Header) { h.Set("Cookie", "claude_hub="+url.QueryEscape(value)) }
}

// open are the routes that ask for no credential: what comes before one, and whether the Hub answers.
var open = []string{
	"GET /healthz", "GET /api/hub", "POST /api/sign-in", "GET /api/auth/github/start", "GET /api/auth/github/callback",
	"POST /api/device/code", "POST /api/device/token",
}

// TestEveryEndpointAuthenticates is promise 2, of the Hub as it is built: each route that it says it has is tried without a
// credential, with good ones of each wrong kind, and with bad ones of the right kind. None opens, and nothing changes.
func TestEveryEndpointAuthenticates(t *testing.T) {
	s := theScene(t)
	ctx := t.Context()
	secrets := s.Secrets()
	secrets["setup token"] = "sk-ant-oat01-stand-in-" + strings.Repeat("y", 70) // another: the Hub is never to have the real one
	before := s.account(ctx, t)
	tried := 0
	for _, r := range routes(t) {
		wrong := map[string]func(http.Header){"nothing": func(http.Header) {}}
		switch {
		case r.person:
			for _, what := range []string{"Runner token", "sign-in token", "setup token", "browser cookie"} {
				wrong["a "+what+" as bearer"] = bearer(secrets[what])
			}
			for _, what := range []string{"Runner token", "sign-in token", "setup token", "API token"} {
				wrong["a "+what+" as cookie"] = cookie(secrets[what])
			}
			wrong["a cookie that nobody made"] = cookie(claudehub.NewToken(claudehub.BrowserToken).Reveal())
			wrong["an API token that nobody made"] = bearer(claudehub.NewToken(claudehub.APITokenKind).Reveal())
		case r.runner:
			for _, what := range []string{"API token", "sign-in token", "setup token", "browser cookie"} {
				wrong["a "+what+" as bearer"] = bearer(secrets[what])
			}
			for _, what := range []string{"Runner token", "browser cookie"} {
				wrong["a "+what+" as cookie"] = cookie(secrets[what])
			}
			wrong["a Runner token that nobody made"] = bearer(claudehub.NewToken(claudehub.RunnerToken).Reveal())
		default:
			if !slices.Contains(open, r.String()) {
				t.Errorf("%s asks for no credential", r)
			}
			continue
		}
		for what, put := range wrong {
			tried++
			// 429 is the same answer to who has tried too often.
			if status, body := s.ask(ctx, t, r, "", put); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
				t.Errorf("%s with %s: %d %s", r, what, status, body)
			}
		}
		if r.person && r.scope != claudehub.ScopeRead {
			tried++
			if status, body := s.ask(ctx, t, r, "", bearer(secrets["API token"])); status != http.StatusForbidden {
				t.Errorf("%s with an API token that only reads: %d %s", r, status, body)
			}
		}
	}
	if after := s.account(ctx, t); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
	// The right ones open: what was sent is what the Hub looks at.
	me := route{method: http.MethodGet, path: "/api/me"}
	for what, put := range map[string]func(http.Header){"the cookie": cookie(secrets["browser cookie"]), "the API token": bearer(secrets["API token"])} {
		if status, body := s.ask(ctx, t, me, "", put); status != http.StatusOK {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	t.Logf("%d requests were refused", tried)
}

// account is what a stranger could have changed, in a line each.
func (s *scene) account(ctx context.Context, t *testing.T) string {
	t.Helper()
	var lines []string
	var session claudehub.Session
	if err := s.Get(ctx, "/api/sessions/"+string(s.session), &session); err != nil {
		t.Fatal(err)
	}
	lines = append(lines, fmt.Sprint("Session: ", session.Title, session.Desired, session.Model, session.Effort, session.Generation, session.Shared))
	prompts, err := s.list(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prompts {
		lines = append(lines, fmt.Sprint("prompt: ", p.ID, p.Author, p.Text, p.State))
	}
	for _, what := range []string{"sessions", "runners", "environments", "tokens", "sign-ins"} {
		var list struct{ Items []struct{ ID, Name string } }
		if err := s.Get(ctx, "/api/"+what, &list); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(what, ": ", list.Items))
	}
	return strings.Join(lines, "\n")
}

// TestWhoListens is promise 2 as well: the Runner opens no port at all, and the Hub its own one, on loopback.
func TestWhoListens(t *testing.T) {
	s := theScene(t)
	if got := listening(t, s.RunnerPID()); len(got) > 0 {
		t.Errorf("the Runner listens on %v", got)
	}
	// /proc has an address as the machine's words: 127.0.0.1 is 0100007F.
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listening(t, s.HubPID()), fmt.Sprintf("0100007F:%04X", port); len(got) != 1 || got[0] != want {
		t.Errorf("the Hub listens on %v, want %s alone", got, want)
	}
}

// listening are the addresses of a process's TCP sockets that wait for connections, as /proc writes them.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := filepath.Glob(filepath.Join(dir, "fd", "*"))
	if err != nil || len(fds) == 0 {
		t.Fatalf("the process %d has no files: %v", pid, err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil { // one that was closed meanwhile listens no more
			own[to] = true
		}
	}
	var out []string
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		b, err := os.ReadFile(filepath.Join(dir, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			const address, state, inode, listens = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listens && own["socket:["+f[inode]+"]"] {
				out = append(out, f[address])
			}
		}
	}
	return out
}
