package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

func bearer(token claudehub.Token) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token.Reveal()}
}

// token makes an API token as a person does.
func (h *house) token(t *testing.T, b *runnertest.Browser, scopes ...claudehub.Scope) (claudehub.Token, string) {
	t.Helper()
	a := b.Do("POST", "/api/tokens", map[string]any{"name": "ci", "scopes": scopes})
	var made web.MadeAPIToken
	if a.Status != http.StatusCreated || json.Unmarshal(a.Body, &made) != nil || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	token, err := claudehub.ParseToken(claudehub.APITokenKind, made.Token)
	if err != nil {
		t.Fatal(err)
	}
	return token, made.ID
}

func TestAnAPITokenOpensWhatItsScopesDo(t *testing.T) {
	h := newHouse(t)
	token, id := h.token(t, h.ann, claudehub.ScopeRead)
	mine := h.URL + "/api/sessions/" + string(h.annS.ID)
	for name, c := range map[string]struct {
		method, url, body string
		status            int
	}{
		"reads":                     {"GET", mine, "", 200},
		"does not drive":            {"POST", mine + "/sleep", "", 403},
		"does not see Environments": {"GET", h.URL + "/api/environments", "", 403},
		"does not make tokens":      {"POST", h.URL + "/api/tokens", `{"name":"x","scopes":["sessions:drive"]}`, 403},
		"does not see others'":      {"GET", h.URL + "/api/sessions/" + string(h.bobS.ID), "", 404},
	} {
		if status, _, body := send(t, c.method, c.url, "application/json", strings.NewReader(c.body), bearer(token)); status != c.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	status, _, body := send(t, "GET", mine, "", nil, merge(bearer(token), "Cookie", h.ann.Cookie.String()))
	if status != http.StatusBadRequest || !strings.Contains(body, "Send one of them") {
		t.Errorf("a cookie and a token: %d %s", status, body)
	}
	if status, _, _ := send(t, "GET", mine, "", nil, merge(bearer(token), "Sec-Fetch-Site", "cross-site")); status != 200 {
		t.Errorf("what holds a token may be anywhere: %d", status)
	}
	if a := h.ann.Do("GET", "/api/tokens", nil); !strings.Contains(string(a.Body), `"address":"127.0.0.1"`) || strings.Contains(string(a.Body), token.Reveal()) {
		t.Errorf("%s", a.Body)
	}
	if a := h.ann.Do("DELETE", "/api/tokens/"+id, nil); a.Status != http.StatusNoContent {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	status, header, _ := send(t, "GET", mine, "", nil, bearer(token))
	if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("revoked: %d %v", status, header)
	}
}

// TestATokenHearsOfWhatItsScopesOpen: the one stream of all changes is no way around a scope.
func TestATokenHearsOfWhatItsScopesOpen(t *testing.T) {
	h := newHouse(t)
	token, id := h.token(t, h.ann, claudehub.ScopeRead)
	events := followAs(t, h.URL+"/api/events", bearer(token))
	next(t, events, "ready")
	if a := h.ann.Do("PATCH", "/api/runners/"+string(h.annR.ID), map[string]string{"name": "renamed"}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("POST", "/api/environments/"+string(h.annE.ID)+"/archive", nil); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("PATCH", "/api/sessions/"+string(h.annS.ID), map[string]string{"title": "Seen"}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	next(t, events, "session") // and of nothing before it
	// And the stream ends at once with the token.
	if a := h.ann.Do("DELETE", "/api/tokens/"+id, nil); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	ended(t, events)
}

// ended waits for a stream's end, which must not wait for its next ping.
func ended(t *testing.T, s *runnertest.Stream) {
	t.Helper()
	begun := time.Now()
	for {
		if _, err := s.Next(); err != nil {
			break
		}
	}
	if took := time.Since(begun); took > wire.StreamPing/2 {
		t.Errorf("the stream ended after %s", took)
	}
}

// TestATokenSignsItselfOut: whatever it may do, and nothing else of its person's ends with it.
func TestATokenSignsItselfOut(t *testing.T) {
	h := newHouse(t)
	token, _ := h.token(t, h.ann, claudehub.ScopeRead)
	other, _ := h.token(t, h.ann, claudehub.ScopeRead)
	events := followAs(t, h.URL+"/api/events", bearer(token))
	next(t, events, "ready")
	status, header, body := send(t, "POST", h.URL+"/api/sign-out", "", nil, bearer(token))
	if status != http.StatusNoContent || len(header.Values("Set-Cookie")) != 0 {
		t.Fatalf("%d %v %s", status, header, body)
	}
	ended(t, events)
	if status, _, _ := send(t, "GET", h.URL+"/api/me", "", nil, bearer(token)); status != http.StatusUnauthorized {
		t.Errorf("it still opens: %d", status)
	}
	if status, _, _ := send(t, "GET", h.URL+"/api/me", "", nil, bearer(other)); status != http.StatusOK {
		t.Errorf("another ended with it: %d", status)
	}
	if a := h.ann.Do("GET", "/api/me", nil); a.Status != http.StatusOK {
		t.Errorf("the browser was signed out: %d", a.Status)
	}
}

func TestASignOutEndsStreamsAtOnce(t *testing.T) {
	h := newHouse(t)
	events := follow(t, h, "/api/events", "")
	next(t, events, "ready")
	if a := h.ann.Do("POST", "/api/sign-out", nil); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	ended(t, events)
}

// TestATokenThatReadsDoesNotType: its terminal shows, and takes no keys.
func TestATokenThatReadsDoesNotType(t *testing.T) {
	h := newHouse(t)
	for scope, want := range map[claudehub.Scope]bool{claudehub.ScopeRead: false, claudehub.ScopeDrive: true} {
		token, _ := h.token(t, h.ann, claudehub.ScopeRead, claudehub.ScopeDrive)
		if scope == claudehub.ScopeRead {
			token, _ = h.token(t, h.ann, claudehub.ScopeRead)
		}
		machine := &runnertest.Browser{Hub: h.Hub, Person: h.ann.Person, Token: token}
		v, err := machine.View(t.Context(), h.annS.ID, wire.TerminalUp{Terminal: "t-1", Cols: 80, Rows: 24})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Until(t.Context(), func(v *runnertest.View) bool { return len(v.Texts) > 0 && v.Texts[0].State != nil }); err != nil {
			t.Fatal(err)
		}
		v.Look(func(v *runnertest.View) {
			if v.State.Drive != want {
				t.Errorf("with %s: drive is %v", scope, v.State.Drive)
			}
		})
		v.Close()
	}
}

func TestARevokedRunnerHearsNothingMore(t *testing.T) {
	h := newHouse(t)
	s, err := h.annR.Open(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e, err := s.Next(); err != nil || e.Kind != wire.EventSnapshot {
		t.Fatal(e.Kind, err)
	}
	if a := h.bob.Do("DELETE", "/api/runners/"+string(h.annR.ID), nil); a.Status != http.StatusNotFound {
		t.Errorf("another's: %d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("DELETE", "/api/runners/"+string(h.annR.ID), nil); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	ended(t, s)
	_, err = h.annR.Open(t.Context(), "", false)
	refusal(t, "it opens another", err, http.StatusUnauthorized)
	if a := h.ann.Do("GET", "/api/runners", nil); !strings.Contains(string(a.Body), `"revoked":"`) {
		t.Errorf("%s", a.Body)
	}
}

func TestARunnerGoesOnToItsNextToken(t *testing.T) {
	h := newHouse(t)
	s, err := h.annR.Open(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	old := h.annR.Token
	req := h.annR.Request(t.Context(), "POST", wire.TokenPath, nil)
	res, err := walker.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var next wire.NewToken
	if err := json.NewDecoder(res.Body).Decode(&next); err != nil || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatal(err, res.Status)
	}
	if h.annR.Token, err = claudehub.ParseToken(claudehub.RunnerToken, next.Token); err != nil {
		t.Fatal(err)
	}
	if _, err := h.annR.Status(t.Context(), wire.Status{}); err != nil {
		t.Errorf("with the next one: %v", err)
	}
	h.annR.Token = old
	_, err = h.annR.Status(t.Context(), wire.Status{})
	refusal(t, "the old one, after the next was used", err, http.StatusUnauthorized)
}
