package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

func must(t *testing.T, a runnertest.Answer, status int) runnertest.Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("%d instead of %d: %s", a.Status, status, a.Body)
	}
	return a
}

func decode[T any](t *testing.T, a runnertest.Answer) (out T) {
	t.Helper()
	if err := json.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return out
}

// nextOf skips what is of another kind.
func nextOf(t *testing.T, s *runnertest.Stream, kind string) runnertest.Event {
	t.Helper()
	for {
		e, err := s.Next()
		if err != nil {
			t.Fatalf("no %s: %v", kind, err)
		}
		if e.Kind == kind {
			return e
		}
	}
}

func TestSharingASession(t *testing.T) {
	h := newHouse(t)
	path := "/api/sessions/" + string(h.annS.ID)
	must(t, h.bob.Do("GET", path, nil), http.StatusNotFound)
	for _, body := range []any{map[string]any{}, map[string]any{"login": "bob", "everyone": true}} {
		must(t, h.ann.Do("POST", path+"/share", body), http.StatusBadRequest)
	}
	if s := decode[claudehub.Session](t, must(t, h.ann.Do("POST", path+"/share", map[string]string{"login": "bob"}), 200)); len(s.Shared.People) != 1 {
		t.Errorf("%+v", s.Shared)
	}
	if s := decode[claudehub.Session](t, must(t, h.bob.Do("GET", path, nil), 200)); s.Access != claudehub.AccessParticipant || len(s.Shared.People) > 0 {
		t.Errorf("%s %+v", s.Access, s.Shared)
	}

	// Bob watches, is seen, may not type, and suggests.
	events := follow(t, h, "/api/events", "")
	next(t, events, "ready")
	view, err := h.bob.View(t.Context(), h.annS.ID, wire.TerminalUp{Terminal: "t-1", Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	if p := decode[fleet.Presence](t, runnertest.Answer{Body: nextOf(t, events, "presence").Data}); p.Session != h.annS.ID || len(p.Watchers) != 1 || p.Watchers[0].Login != "bob" {
		t.Errorf("%+v", p)
	}
	if err := view.Until(within(t, waits), func(v *runnertest.View) bool { return len(v.State.Watchers) == 1 }); err != nil {
		t.Fatal(err)
	}
	view.Look(func(v *runnertest.View) {
		if v.State.Drive {
			t.Error("a Participant may type")
		}
	})
	sug := decode[claudehub.Suggestion](t, must(t, h.bob.Do("POST", path+"/suggestions", map[string]string{"text": "try it"}), 201))
	if e := decode[claudehub.Suggestion](t, runnertest.Answer{Body: nextOf(t, events, "suggestion").Data}); e.ID != sug.ID || e.Text != "try it" {
		t.Errorf("%+v", e)
	}
	must(t, h.bob.Do("POST", "/api/suggestions/"+string(sug.ID)+"/accept", nil), http.StatusForbidden)
	p := decode[claudehub.Prompt](t, must(t, h.ann.Do("POST", "/api/suggestions/"+string(sug.ID)+"/accept", map[string]string{"text": "try that"}), 200))
	if p.Text != "try that" || p.Author != h.ann.Person.ID || p.SuggestedBy == nil || p.SuggestedBy.Login != "bob" {
		t.Errorf("%+v", p)
	}

	// Taken back, it is gone from under him, at once.
	must(t, h.ann.Do("DELETE", path+"/share/"+string(h.bob.Person.ID), nil), 200)
	if err := view.Until(within(t, waits), func(*runnertest.View) bool { return false }); err == nil || strings.Contains(err.Error(), "deadline") {
		t.Errorf("Bob's terminal stays: %v", err)
	}
	must(t, h.bob.Do("GET", path, nil), http.StatusNotFound)
}

func TestJoiningByALink(t *testing.T) {
	h := newHouse(t)
	path := "/api/sessions/" + string(h.annS.ID)
	link := decode[web.SessionLink](t, must(t, h.ann.Do("POST", path+"/link", nil), 201))
	address, token, ok := strings.Cut(link.URL, "#")
	if !ok || address != h.URL+"/join" {
		t.Errorf("%s", link.URL)
	}
	for _, other := range []string{"", "x", token[:len(token)-1], claudehub.NewToken(claudehub.JoinToken).Reveal()} {
		if a := h.bob.Do("POST", "/api/join", map[string]string{"token": other}); a.Status != http.StatusNotFound {
			t.Errorf("%q: %d %s", other, a.Status, a.Body)
		}
	}
	if s := decode[claudehub.Session](t, must(t, h.bob.Do("POST", "/api/join", map[string]string{"token": token}), 200)); s.ID != h.annS.ID || s.Access != claudehub.AccessParticipant {
		t.Errorf("%+v", s)
	}
	must(t, h.ann.Do("DELETE", path+"/link", nil), 200)
	must(t, h.bob.Do("GET", path, nil), http.StatusNotFound)
	h.Stop()
	if strings.Contains(h.log.String(), token) {
		t.Error("the link is in the log")
	}
}

func TestRefusalsAreInTheAuditLog(t *testing.T) {
	h := newHouse(t)
	token, _ := h.token(t, h.ann, claudehub.ScopeRead)
	mine := h.URL + "/api/sessions/" + string(h.annS.ID)
	send(t, "POST", mine+"/sleep", "", nil, bearer(token))
	send(t, "POST", mine+"/wake", "", nil, bearer(claudehub.NewToken(claudehub.APITokenKind)))
	send(t, "POST", h.URL+"/api/sign-in", "application/json", strings.NewReader(`{"token":"`+claudehub.NewToken(claudehub.SignInToken).Reveal()+`"}`), nil)
	h.bob.Do("GET", "/api/device/BBBB-BBBB", nil)
	send(t, "POST", mine+"/stop", "", nil, map[string]string{"Cookie": h.ann.Cookie.String(), "Sec-Fetch-Site": "cross-site"})
	send(t, "GET", mine, "", nil, nil) // without a credential: nobody
	admin := h.ann.Person
	admin.Role = claudehub.RoleAdmin
	all, err := h.Fleet.AuditLog(t.Context(), admin, fleet.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]claudehub.AuditEntry{}
	for _, e := range all {
		if e.Outcome == claudehub.OutcomeRefused {
			found[e.Action] = e
		}
	}
	for action, want := range map[string]claudehub.AuditEntry{
		"session.sleep": {Kind: claudehub.ActorPerson, Actor: string(h.ann.Person.ID), Login: "ann", Target: string(h.annS.ID)},
		"session.wake":  {Kind: claudehub.ActorNobody, Target: string(h.annS.ID)},
		"session.stop":  {Kind: claudehub.ActorNobody, Target: string(h.annS.ID)},
		"sign-in":       {Kind: claudehub.ActorNobody},
		"device.get":    {Kind: claudehub.ActorPerson, Actor: string(h.bob.Person.ID), Login: "bob"},
	} {
		got := found[action]
		if got.Kind != want.Kind || got.Actor != want.Actor || got.Login != want.Login || got.Target != want.Target || got.Address != "127.0.0.1" {
			t.Errorf("%s: %+v", action, got)
		}
	}
	if len(found) != 5 {
		t.Errorf("%v", found)
	}
}
