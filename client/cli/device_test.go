package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"claude-hub/client"
	"claude-hub/client/cli"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var userCode = regexp.MustCompile(`(?m)^ +([A-Z]{4}-[A-Z]{4})\s*$`)

// codeOf waits for the code that the program shows.
func (p *person) codeOf() string {
	p.t.Helper()
	code := ""
	p.until("a code", func(screen string) bool {
		m := userCode.FindStringSubmatch(screen)
		if m != nil {
			code = m[1]
		}
		return m != nil
	})
	return code
}

// TestLoginByBrowser has a person at a terminal sign in, and approve it as a signed-in browser does.
func TestLoginByBrowser(t *testing.T) {
	s := newStage(t)
	browser, err := client.New(s.URL, "", client.WithTransport(signedIn(s.cookie)))
	check(t, err)
	p := s.sitDownWith(t, 100, 30, "SSH_TTY=/dev/null") // no screen, so no browser opens here
	p.enters("claude-hub runners; echo exit=$?")
	p.sees("exit=3")

	p.afresh("claude-hub login; echo exit=$?")
	code := p.codeOf()
	p.sees("/device")
	waits, err := browser.Device(s.ctx, strings.ToLower(code))
	check(t, err)
	name, err := os.Hostname()
	check(t, err)
	if waits.Client != wire.DeviceCLI || waits.Name != name || waits.Machine == "" {
		t.Errorf("what waits is %+v", waits)
	}
	check(t, browser.DenyDevice(s.ctx, code))
	p.sees("exit=3")

	p.afresh("claude-hub login; echo exit=$?")
	code = p.codeOf()
	if _, err := browser.ApproveDevice(s.ctx, code, ""); err != nil {
		t.Fatal(err)
	}
	p.sees("Signed in to " + s.URL + " as ann.")
	p.sees("exit=0")
	b, err := os.ReadFile(filepath.Join(s.dir, "claude-hub", "sign-in.json"))
	check(t, err)
	var kept struct {
		Hubs map[string]struct{ Token string }
	}
	check(t, json.Unmarshal(b, &kept))
	token := kept.Hubs[s.URL].Token
	if _, err := claudehub.ParseToken(claudehub.APITokenKind, token); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.tmux("capture-pane", "-p", "-S", "-"), token) {
		t.Error("the token is shown")
	}

	p.afresh("claude-hub runners; claude-hub sessions list; echo exit=$?")
	p.sees("exit=0")
	p.sees("box")
	p.sees(string(s.sess.ID))
	all, err := browser.Tokens(s.ctx)
	check(t, err)
	if len(all) != 1 {
		t.Fatalf("the tokens are %+v", all)
	}
	p.afresh("claude-hub tokens new more --scopes runners; echo exit=$?")
	p.sees("exit=3")
	p.sees(s.URL + "/settings")
	p.afresh("claude-hub tokens list; echo exit=$?")
	p.sees("exit=0")
	p.sees(all[0].ID)
	p.afresh("claude-hub tokens revoke " + all[0].ID + "; echo exit=$?") // its own
	p.sees("exit=0")
	p.afresh("claude-hub runners; echo exit=$?")
	p.sees("exit=3")

	// A token that was made for a sign-in ends with it.
	p.afresh("claude-hub login; echo exit=$?")
	if _, err := browser.ApproveDevice(s.ctx, p.codeOf(), ""); err != nil {
		t.Fatal(err)
	}
	p.sees("exit=0")
	p.afresh("claude-hub logout; echo exit=$?")
	p.sees("It is good for nothing more.")
	p.sees("exit=0")
	if all, err := browser.Tokens(s.ctx); err != nil || len(all) != 0 {
		t.Errorf("after the logout: %+v, %v", all, err)
	}
}

// TestTokens makes, lists and ends tokens of the real Hub, as a signed-in person.
func TestTokens(t *testing.T) {
	s := newStage(t)
	made := decode[client.MadeToken](t, s.ok(t, "", "tokens", "new", "ci", "--scopes", "sessions:read,runners", "--expires", "30d", "--json").out)
	if _, err := claudehub.ParseToken(claudehub.APITokenKind, made.Secret); err != nil || made.Name != "ci" || len(made.Scopes) != 2 || made.Expires.IsZero() {
		t.Errorf("made %s %v %v %v", made.Name, made.Scopes, made.Expires, err)
	}
	c, err := client.New(s.URL, made.Secret)
	check(t, err)
	defer c.Close()
	if _, err := c.Runners(s.ctx); err != nil {
		t.Error(err)
	}
	if _, err := c.Sleep(s.ctx, s.sess.ID); claudehub.CodeOf(err) != claudehub.Forbidden {
		t.Errorf("without the scope: %v", err)
	}
	if out := s.ok(t, "", "tokens", "list").out; !strings.Contains(out, made.ID) || !strings.Contains(out, "sessions:read,runners") || strings.Contains(out, made.Secret) {
		t.Errorf("the table is\n%s", out)
	}
	s.fails(t, 2, "no scope called", "tokens", "new", "x", "--scopes", "all")
	s.fails(t, 2, "a year", "tokens", "new", "x", "--scopes", "runners", "--expires", "800d")
	s.ok(t, "", "tokens", "revoke", "ci")
	if _, err := c.Runners(s.ctx); claudehub.CodeOf(err) != claudehub.Unauthenticated {
		t.Errorf("after it was revoked: %v", err)
	}
}

// TestAReaderLists: a token that reads Sessions and nothing else lists them, with the Runner's id for its name.
func TestAReaderLists(t *testing.T) {
	s := newStage(t)
	made := decode[client.MadeToken](t, s.ok(t, "", "tokens", "new", "reader", "--scopes", "sessions:read", "--json").out)
	e, out, errs := s.env("")
	e.Getenv = func(name string) string {
		return map[string]string{"CLAUDE_HUB_URL": s.URL, "CLAUDE_HUB_TOKEN": made.Secret}[name]
	}
	if code := program(s.ctx, []string{"sessions", "list"}, e); code != 0 || !strings.Contains(out.String(), string(s.sess.Runner)) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// TestNoCodeInArguments: the page that a browser is opened at is the one where the code is typed, without the code.
func TestNoCodeInArguments(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(s.ctx)
	e, out, _ := s.env("")
	var opened string
	e.Browse = func(address string) error {
		opened = address
		cancel() // nobody will approve
		return nil
	}
	c, err := client.New(s.URL, "")
	check(t, err)
	defer c.Close()
	if _, err := cli.ByBrowser(e, ctx, c, out); err == nil {
		t.Fatal("signed in by nobody")
	}
	if opened != s.URL+"/device" || !strings.Contains(out.String(), opened) {
		t.Errorf("opened %q, and printed %s", opened, out)
	}
}
