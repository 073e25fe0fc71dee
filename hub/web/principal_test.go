package web_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// house is a Hub with two people, each with a Runner and a Session.
type house struct {
	*runnertest.Hub
	ann, bob   *runnertest.Browser
	annR, bobR *runnertest.Runner
	annS, bobS claudehub.Session
	annP       claudehub.Prompt
	annE       claudehub.Environment
	annB       claudehub.Build
	log        *syncBuffer
}

// patient is a Hub for tests that walk all routes with all credentials from one address.
func patient(_ *fleet.Options, w *web.Options) {
	often := web.Rate{Count: 1_000_000, Per: time.Minute}
	w.Limits = web.Limits{SignIn: often, DeviceCode: often, EntryPerson: often, EntryAddress: often, TokenFailures: often, Writes: often}
}

func newHouse(t testing.TB) *house {
	log := &syncBuffer{}
	h := &house{Hub: runnertest.NewHub(t, log, patient), log: log}
	ann, bob := h.Person("ann"), h.Person("bob")
	h.ann, h.bob = h.SignIn(ann), h.SignIn(bob)
	h.annR, h.bobR = h.Runner(ann, "ann-mac"), h.Runner(bob, "bob-box")
	h.annS, h.bobS = h.Session(ann, h.annR), h.Session(bob, h.bobR)
	var err error
	if h.annP, err = h.Fleet.AddPrompt(t.Context(), ann.ID, h.annS.ID, "hello", ""); err != nil {
		t.Fatal(err)
	}
	if h.annE, err = h.Fleet.CreateEnvironment(t.Context(), ann.ID, "tools", claudehub.DefaultRecipe()); err != nil {
		t.Fatal(err)
	}
	if h.annB, err = h.Fleet.CreateBuild(t.Context(), ann.ID, fleet.NewBuild{Environment: h.annE.ID, Runner: h.annR.ID}); err != nil {
		t.Fatal(err)
	}
	return h
}

// fill puts real ids into a route's path.
func (h *house) fill(path string) string {
	id := string(h.annS.ID)
	switch {
	case strings.HasPrefix(path, "/api/runners/"):
		id = string(h.annR.ID)
	case strings.HasPrefix(path, "/api/sign-ins/"), strings.HasPrefix(path, "/api/tokens/"):
		id = "nothing"
	case strings.HasPrefix(path, "/api/environments/"):
		id = string(h.annE.ID)
	case strings.HasPrefix(path, "/api/builds/"), strings.HasPrefix(path, "/runner/v1/builds/"):
		id = string(h.annB.ID)
	}
	return strings.NewReplacer("{id}", id, "{prompt}", string(h.annP.ID), "{port}", "3000", "{name}", "NAME").Replace(path)
}

// credential is one way to come to a route.
type credential struct {
	name string
	put  func(*http.Request)
}

func (h *house) credentials(t *testing.T) (bad, person, runner []credential) {
	cookie := func(name string, tok claudehub.Token) credential {
		return credential{name, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "claude_hub", Value: tok.Reveal()}) }}
	}
	bearer := func(name string, tok claudehub.Token) credential {
		return credential{name, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+tok.Reveal())
			r.Header.Set(wire.ProtocolHeader, "1")
			r.Header.Set(wire.InstanceHeader, "an-instance")
		}}
	}
	out := h.SignIn(h.ann.Person)
	outToken, err := claudehub.ParseToken(claudehub.BrowserToken, out.Cookie.Value)
	if err != nil {
		t.Fatal(err)
	}
	if a := out.Do(http.MethodPost, "/api/sign-out", nil); a.Status != http.StatusNoContent {
		t.Fatalf("sign out: %d", a.Status)
	}
	good, err := claudehub.ParseToken(claudehub.BrowserToken, h.ann.Cookie.Value)
	if err != nil {
		t.Fatal(err)
	}
	old := h.Runner(h.ann.Person, "renewed")
	if _, _, err := h.Fleet.NewRunnerToken(t.Context(), h.ann.Person.ID, "renewed"); err != nil {
		t.Fatal(err)
	}
	bare := func(name, value string) credential {
		return credential{name, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+value) }}
	}
	raw := func(name, value string) credential {
		return credential{name, func(r *http.Request) { r.Header.Set("Cookie", "claude_hub="+value) }}
	}
	bad = []credential{
		{"no credential", func(*http.Request) {}},
		raw("an empty one", ""), raw("a malformed one", "chb_what"), raw("a very long one", strings.Repeat("x", 9000)),
		bare("an empty bearer", ""), bare("a malformed bearer", "chp_what"), bare("a bearer with a wrong checksum", good.Reveal()[:len(good.Reveal())-1]+"~"),
		raw("one with a wrong checksum", good.Reveal()[:len(good.Reveal())-1]+"~"),
		cookie("an unknown cookie", claudehub.NewToken(claudehub.BrowserToken)),
		cookie("a signed-out cookie", outToken),
		cookie("a Runner's token as a cookie", h.annR.Token),
		bearer("an unknown Runner's token", claudehub.NewToken(claudehub.RunnerToken)),
		bearer("a Runner's token that was replaced", old.Token),
		bearer("a cookie as bearer", good),
		bearer("a sign-in link as bearer", h.Link(h.ann.Person)),
	}
	return bad, []credential{cookie("ann's cookie", good)}, []credential{bearer("ann's Runner", h.annR.Token)}
}

var walker = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (h *house) try(t *testing.T, rt web.RouteInfo, c credential) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, rt.Method, h.URL+h.fill(rt.Path), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.put(req)
	res, err := walker.Do(req)
	if err != nil {
		t.Fatalf("%s %s with %s: %v", rt.Method, rt.Path, c.name, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK && rt.Stream {
		return res.StatusCode, ""
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestEveryRouteAuthenticates walks the table: whoever adds a route has it covered here.
func TestEveryRouteAuthenticates(t *testing.T) {
	h := newHouse(t)
	bad, person, runner := h.credentials(t)
	known := []string{"GET /healthz", "GET /api/hub", "POST /api/sign-in"}
	count := map[string]int{}
	for _, rt := range web.Routes() {
		count[rt.Principal]++
		var wrong []credential
		switch rt.Principal {
		case "public":
			if !strings.Contains(strings.Join(known, "\n"), rt.Method+" "+rt.Path) {
				t.Errorf("%s %s is public and not in this list", rt.Method, rt.Path)
			}
			continue
		case "person":
			wrong = slices.Concat(bad, runner)
		case "runner":
			wrong = slices.Concat(bad, person)
		default:
			t.Fatalf("%s %s serves %q", rt.Method, rt.Path, rt.Principal)
		}
		first := map[bool]string{}
		for _, c := range wrong {
			status, body := h.try(t, rt, c)
			if status != http.StatusUnauthorized {
				t.Errorf("%s %s with %s: %d %s", rt.Method, rt.Path, c.name, status, body)
			}
			asked := httptest.NewRequestWithContext(t.Context(), rt.Method, "/", nil)
			c.put(asked)
			bearer := rt.Principal == "person" && asked.Header.Get("Authorization") != ""
			if first[bearer] == "" {
				first[bearer] = body
			}
			if body != first[bearer] {
				t.Errorf("%s %s tells %s apart: %s", rt.Method, rt.Path, c.name, body)
			}
		}
	}
	if count["public"] != len(known) || count["person"] < 45 || count["runner"] < 7 {
		t.Errorf("the table has %v", count)
	}
	// Last, since some of these change things: with the right one the door is open.
	for _, rt := range web.Routes() {
		if rt.Path == "/api/sign-out" || rt.ID == "revoke-runner" {
			continue
		}
		good := person
		if rt.Principal == "runner" {
			good = runner
		}
		for _, c := range good {
			if status, body := h.try(t, rt, c); status == http.StatusUnauthorized && rt.Path != "/api/sign-in" || status == http.StatusForbidden {
				t.Errorf("%s %s with %s: %d %s", rt.Method, rt.Path, c.name, status, body)
			}
		}
	}
}

// TestAbsentAndNotYoursLookAlike compares what Bob gets for Ann's things with what he gets for things nobody has.
func TestAbsentAndNotYoursLookAlike(t *testing.T) {
	h := newHouse(t)
	body := map[string]map[string]any{
		"POST /api/sessions/{id}/prompts": {"text": "x"}, "PATCH /api/sessions/{id}": {"title": "x"}, "PATCH /api/runners/{id}": {"name": "x"},
		"POST /api/sessions/{id}/ports": {"port": 3000, "same": false}, "PATCH /api/environments/{id}": {"base_version": 1, "name": "x"},
		"POST /api/environments/{id}/builds": {"runner": h.bobR.ID}, "PUT /api/environments/{id}/variables/{name}": {"value": "x", "secret": true},
		"POST /api/runners/{id}/reclaim": {"what": []string{"image"}},
	}
	for _, rt := range web.Routes() {
		if rt.Principal != "person" || !strings.Contains(rt.Path, "{id}") || rt.Path == "/api/sign-ins/{id}" || rt.Path == "/api/tokens/{id}" {
			continue
		}
		var in any
		if b, ok := body[rt.Method+" "+rt.Path]; ok {
			in = b
		}
		no := strings.NewReplacer("{prompt}", string(claudehub.NewPromptID()), "{port}", "3000")
		switch {
		case strings.HasPrefix(rt.Path, "/api/runners"):
			no = strings.NewReplacer("{id}", string(claudehub.NewRunnerID()))
		case strings.HasPrefix(rt.Path, "/api/environments"):
			no = strings.NewReplacer("{id}", string(claudehub.NewEnvironmentID()), "{name}", "NAME")
		case strings.HasPrefix(rt.Path, "/api/builds"):
			no = strings.NewReplacer("{id}", string(claudehub.NewBuildID()))
		}
		absent := strings.NewReplacer("{id}", string(claudehub.NewSessionID())).Replace(no.Replace(rt.Path))
		mine := h.bob.Do(rt.Method, h.fill(rt.Path), in)
		none := h.bob.Do(rt.Method, absent, in)
		if mine.Status != http.StatusNotFound || none.Status != http.StatusNotFound || !bytes.Equal(mine.Body, none.Body) {
			t.Errorf("%s %s: %d %s, %d %s", rt.Method, rt.Path, mine.Status, mine.Body, none.Status, none.Body)
		}
		for _, id := range []string{"x", "ses_*", "..", "ses_%2e%2e", string(h.annS.ID) + "x"} {
			if a := h.bob.Do(rt.Method, strings.NewReplacer("{id}", id, "{prompt}", id, "{name}", id, "{port}", id).Replace(rt.Path), in); a.Status != http.StatusNotFound &&
				a.Status != http.StatusTemporaryRedirect && a.Status != http.StatusMovedPermanently && !strings.Contains(id, "..") {
				t.Errorf("%s %s with id %s: %d %s", rt.Method, rt.Path, id, a.Status, a.Body)
			}
		}
	}
	// A Runner has its own Sessions alone.
	s, err := h.bobR.Open(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = h.bobR.Screen(t.Context(), h.annS.ID, wire.Frame{Kind: wire.FrameSnapshot, Life: claudehub.NewNonce()})
	if r, ok := err.(*runnertest.Refused); !ok || r.Status != http.StatusNotFound { //nolint:errorlint // it is not wrapped
		t.Errorf("Bob's Runner wrote on Ann's screen: %v", err)
	}
}

func TestARouteNeedsAPrincipal(t *testing.T) {
	for name, try := range map[string]func(){"nobody": web.RegisterNobody, "behind the table": web.RegisterBehind} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was registered", name)
				}
			}()
			try()
		}()
	}
}
