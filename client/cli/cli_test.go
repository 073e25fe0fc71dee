package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/client"
	"claude-hub/client/cli"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

type list[T any] struct{ Items []T }

func TestSessions(t *testing.T) {
	s := newStage(t)
	id := string(s.sess.ID)
	made := decode[client.Session](t, s.ok(t, "first\nprompt", "sessions", "new", "--json", "--title", "漢字 👍 title", "--model", "opus", "--prompt", "-").out)
	if made.Title != "漢字 👍 title" || made.Model != "opus" || made.Runner != s.runner.ID {
		t.Errorf("made %+v", made)
	}
	prompts, err := s.Fleet.Prompts(s.ctx, s.ann.ID, made.ID)
	if err != nil || len(prompts) != 1 || prompts[0].Text != "first\nprompt" {
		t.Errorf("its prompts are %+v, %v", prompts, err)
	}
	if all := decode[list[client.Session]](t, s.ok(t, "", "sessions", "list", "--json").out); len(all.Items) != 2 {
		t.Errorf("the list has %d", len(all.Items))
	}
	human := s.ok(t, "", "sessions", "list").out
	for _, want := range []string{"ID  ", id, "漢字 👍 title", "ready", "box", "opus", "Ready for you"} {
		if !strings.Contains(human, want) {
			t.Errorf("no %q in\n%s", want, human)
		}
	}
	for _, name := range []string{id, s.sess.Title, strings.ToUpper(s.sess.Title), id[:29], id[4:29]} {
		if r := s.ok(t, "", "sessions", "sleep", "--json", name); decode[client.Session](t, r.out).ID != s.sess.ID {
			t.Errorf("%q is %s", name, r.out)
		}
	}
	if r := s.ok(t, "", "sessions", "wake", id); !strings.HasPrefix(r.out, "Waking: "+id) {
		t.Errorf("it says %q", r.out)
	}
	s.ok(t, "", "sessions", "archive", "漢字 👍 title")
	if all := decode[list[client.Session]](t, s.ok(t, "", "sessions", "list", "--archived", "--json").out); len(all.Items) != 1 {
		t.Errorf("archived are %d", len(all.Items))
	}
	s.ok(t, "", "sessions", "unarchive", "漢字 👍 title")

	s.fails(t, 4, `no Session with the id or name "nothing"`, "sessions", "sleep", "nothing")
	s.fails(t, 2, "could be meant", "sessions", "sleep", "ses_")
	s.fails(t, 2, "no model called", "sessions", "new", "--model", "gpt")
	s.fails(t, 4, "no Runner with", "sessions", "new", "--runner", "other")
	s.fails(t, 2, "prompt is empty", "sessions", "prompt", id, " ")
	s.fails(t, 2, "needs a terminal", "sessions", "attach", id)
}

func TestRunners(t *testing.T) {
	s := newStage(t)
	if all := decode[list[client.Runner]](t, s.ok(t, "", "runners", "--json").out); len(all.Items) != 1 || all.Items[0].Name != "box" {
		t.Errorf("they are %+v", all)
	}
	if out := s.ok(t, "", "runners").out; !strings.Contains(out, "box") || !strings.Contains(out, "up") {
		t.Errorf("the table is\n%s", out)
	}
}

// TestPromptWait has the fake Runner tell how far the prompt is.
func TestPromptWait(t *testing.T) {
	s := newStage(t)
	done := make(chan ran, 1)
	t.Setenv("CLAUDE_HUB_URL", s.URL)
	go func() { done <- s.run(t, "from a pipe", "sessions", "prompt", "--wait", string(s.sess.ID), "-") }()
	var p claudehub.Prompt
	s.poll(t, "the prompt", func() bool {
		all, err := s.Fleet.Prompts(s.ctx, s.ann.ID, s.sess.ID)
		check(t, err)
		if len(all) == 1 {
			p = all[0]
		}
		return len(all) == 1
	})
	if p.Text != "from a pipe" {
		t.Errorf("it is %q", p.Text)
	}
	at := time.Now()
	event := func(kind wire.EventKind, state claudehub.PromptState, text string, ended bool) wire.Event {
		return wire.Event{ID: claudehub.NewEventID(), Session: s.sess.ID, Kind: kind, At: at, Prompt: p.ID, State: state, Text: text, Ended: ended}
	}
	send := func(events ...wire.Event) {
		_, err := s.runner.Events(s.ctx, wire.Events{Events: events})
		check(t, err)
	}
	send(event(wire.ReportPrompt, claudehub.PromptAccepted, "", false))
	s.Restart() // whoever waits connects again
	s.poll(t, "the Hub", func() bool {
		_, err := s.runner.Events(s.ctx, wire.Events{Events: []wire.Event{
			event(wire.ReportTurn, "", "All tests \x1b[31mpass now.", true), event(wire.ReportPrompt, claudehub.PromptDone, "", false)}})
		return err == nil
	})
	if r := <-done; r.code != 0 || r.out != "All tests [31mpass now.\n" {
		t.Errorf("exit %d: %q %q", r.code, r.out, r.err)
	}

	sent := decode[client.Prompt](t, s.ok(t, "", "sessions", "prompt", "--json", string(s.sess.ID), "two", "words").out)
	if sent.Text != "two words" || sent.State != claudehub.PromptQueued {
		t.Errorf("sent %+v", sent)
	}
	go func() { done <- s.run(t, "", "sessions", "prompt", "--wait", "--json", string(s.sess.ID), "third") }()
	s.poll(t, "the third", func() bool {
		all, err := s.Fleet.Prompts(s.ctx, s.ann.ID, s.sess.ID)
		check(t, err)
		p = all[len(all)-1]
		return p.Text == "third"
	})
	send(event(wire.ReportPrompt, claudehub.PromptFailed, "Claude ended.", false))
	r := <-done
	if got := decode[cli.Answered](t, r.out); r.code != 1 || got.Prompt.State != claudehub.PromptFailed || !strings.Contains(r.err, "Claude ended.") {
		t.Errorf("exit %d: %s %s", r.code, r.out, r.err)
	}
}

// tokenHub is a Hub as far as tokens go, until the real one has them.
func tokenHub(t *testing.T, good string) *httptest.Server {
	item := `{"id":"tok_1","name":"ci","scopes":["sessions:read"],"created":"2026-01-02T03:04:05Z"}`
	mux := http.NewServeMux()
	reply := func(pattern, body string, status int) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+good {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"code":"unauthenticated","detail":"That token is not good."}`))
				return
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	reply("GET /api/me", `{"id":"per_1","login":"ann","name":"Ann","created":"2026-01-02T03:04:05Z"}`, 200)
	reply("GET /api/tokens", `{"items":[`+item+`]}`, 200)
	reply("POST /api/tokens", `{"token":"chp_secret",`+item[1:], 201)
	reply("DELETE /api/tokens/tok_1", "", 204)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestLogoutAlwaysForgets: whatever the Hub says, the token is not kept, and what is said of it is true.
func TestLogoutAlwaysForgets(t *testing.T) {
	token := claudehub.NewToken("chp_").Reveal()
	for name, c := range map[string]struct {
		own       bool
		status    int
		asked     int
		out, errs string
	}{
		"made for this":                  {true, 204, 1, "good for nothing more", ""},
		"made for this, and over before": {true, 401, 1, "good for nothing more", ""},
		"made for this, and refused":     {true, 403, 1, "good until you revoke it", "did not end the token"},
		"brought":                        {false, 204, 0, "good until you revoke it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Method+r.URL.Path != "POST/api/sign-out" || r.Header.Get("Authorization") != "Bearer "+token {
					t.Errorf("asked for %s %s", r.Method, r.URL)
				}
				w.WriteHeader(c.status)
			}))
			defer hub.Close()
			s := &stage{ctx: t.Context(), dir: t.TempDir()}
			kept, err := json.Marshal(map[string]any{"current": hub.URL, "hubs": map[string]any{hub.URL: map[string]any{"token": token, "own": c.own}}})
			check(t, err)
			check(t, os.WriteFile(filepath.Join(s.dir, "sign-in.json"), kept, 0o600))
			e, out, errs := s.env("")
			if code := program(s.ctx, []string{"logout"}, e); code != 0 || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("exit %d: %q %q", code, out, errs)
			}
			kept, err = os.ReadFile(filepath.Join(s.dir, "sign-in.json"))
			check(t, err)
			if all := string(kept) + out.String() + errs.String(); strings.Contains(all, token) || asked != c.asked {
				t.Errorf("asked %d times; the token is in %q", asked, all)
			}
		})
	}
}

func TestLoginAndTokens(t *testing.T) {
	good := claudehub.NewToken("chp_").Reveal()
	hub := tokenHub(t, good)
	s := &stage{ctx: t.Context(), dir: filepath.Join(t.TempDir(), "new", "dir")}
	run := func(input string, args ...string) ran {
		e, out, errs := s.env(input)
		return ran{program(s.ctx, args, e), out.String(), errs.String()}
	}
	want := func(what string, r ran, code int, out, errs string) {
		t.Helper()
		if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, errs) {
			t.Errorf("%s: exit %d: %q %q", what, r.code, r.out, r.err)
		}
		if strings.Contains(r.out+r.err, good) {
			t.Errorf("%s: the token is shown", what)
		}
	}
	want("not signed in", run("", "runners"), 3, "", "claude-hub login")
	want("no Hub", run(good, "login"), 2, "", "--hub")
	want("no token", run("chp_short", "login", "--hub", hub.URL), 2, "", "not a whole API token")
	want("not this Hub's", run(claudehub.NewToken("chp_").Reveal(), "login", "--hub", hub.URL), 3, "", "That token is not good.")
	want("plain", run(good, "login", "--hub", "http://hub.example.org"), 2, "", "https")
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("something was kept of what did not work")
	}
	want("login", run(good+"\n", "login", "--hub", hub.URL+"/"), 0, "Signed in to "+hub.URL+" as ann.", "")
	path := filepath.Join(s.dir, "sign-in.json")
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	want("list", run("", "tokens", "list"), 0, "tok_1", "")
	want("list as JSON", run("", "tokens", "list", "--json"), 0, `"scopes": [`, "")
	want("new", run("", "tokens", "new", "ci", "--scopes", "sessions:read,runners", "--expires", "30d"), 0, "chp_secret\n", "only time")
	want("new, ended", run("", "tokens", "new", "ci", "--scopes", "runners", "--expires", "2001-01-01"), 2, "", "no time in the future")
	want("revoke", run("", "tokens", "revoke", "ci"), 0, "Revoked tok_1", "")
	want("revoke none", run("", "tokens", "revoke", "zz"), 4, "", "no API token")
	check(t, os.Chmod(path, 0o644))
	want("readable by others", run("", "tokens", "list"), 2, "", "chmod 600")
	check(t, os.Chmod(path, 0o600))
	want("logout", run("", "logout"), 0, "Forgot", "")
	want("after logout", run("", "tokens", "list"), 3, "", "login")
}
