package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // somebody with the database

	"claude-hub/internal/claudehub"
	"claude-hub/internal/standin/github"
)

// newGitHub is a stand-in for GitHub that knows ada, and whose application sends people back to the Hub.
func newGitHub(t *testing.T, hubURL, secret string) *httptest.Server {
	t.Helper()
	server, err := github.New(github.Options{ClientSecret: secret, Script: github.Script{
		App:    github.App{ClientID: "Iv1.test", Redirects: []string{hubURL + "/api/auth/github/callback"}},
		People: []github.Person{{ID: 1001, Login: "ada", Name: "Ada"}, {ID: 1002, Login: "eve"}},
	}})
	check(t, err)
	s := httptest.NewServer(server.Handler())
	t.Cleanup(s.Close)
	return s
}

// browser is one person's.
type browser struct {
	t   *testing.T
	hub string
	*http.Client
}

func newBrowser(t *testing.T, hub string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	check(t, err)
	return &browser{t, hub, &http.Client{Jar: jar, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signIn goes to GitHub and back, and tells where the Hub sends the browser then.
func (b *browser) signIn(login string) string {
	b.t.Helper()
	resp, err := b.Get(b.hub + "/api/auth/github/start?next=/setup")
	check(b.t, err)
	resp.Body.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	back, err := github.Visit(ctx, http.DefaultClient, resp.Header.Get("Location"), login)
	check(b.t, err)
	return b.follow(back)
}

func (b *browser) follow(u *url.URL) string {
	b.t.Helper()
	resp, err := b.Get(u.String())
	check(b.t, err)
	resp.Body.Close()
	return resp.Header.Get("Location")
}

func (b *browser) post(path string, in any) (int, string) {
	b.t.Helper()
	body, err := json.Marshal(in)
	check(b.t, err)
	resp, err := b.Post(b.hub+path, "application/json", bytes.NewReader(body))
	check(b.t, err)
	defer resp.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(resp.Body)
	check(b.t, err)
	return resp.StatusCode, out.String()
}

// TestFirstAdminAndAudit is an operator's first day: a Hub, a sign-in by GitHub, the set-up code, and the audit log of it,
// which somebody then tampers with.
func TestFirstAdminAndAudit(t *testing.T) {
	dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
	gh := newGitHub(t, "http://"+at, clientSecret)
	h := startProcess(t, nil, append(atGitHub(dir, at, gh.URL), "--github-client-secret-file", writeSecret(t, clientSecret))...)
	code := setupCode(t, h.lines(2)[1])
	ada, eve := newBrowser(t, "http://"+at), newBrowser(t, "http://"+at)
	if to := eve.signIn("eve"); !strings.HasPrefix(to, "/sign-in?problem=") {
		t.Errorf("who is not on the list is sent to %q", to)
	}
	if to := ada.signIn("ada"); to != "/setup" {
		t.Fatalf("after the sign-in the page is %q", to)
	}
	if status, body := ada.post("/api/setup", map[string]string{"code": claudehub.NewToken(claudehub.SetupToken).Reveal()}); status/100 == 2 {
		t.Errorf("a wrong code: %d %s", status, body)
	}
	if status, body := ada.post("/api/setup", map[string]string{"code": code}); status/100 != 2 || !strings.Contains(body, `"admin"`) {
		t.Fatalf("the code: %d %s", status, body)
	}
	if code, out, stderr := command("setup-code", "--data", dir); code != 1 || out != "" || !oneSentence(stderr, "has an admin") {
		t.Errorf("another code: %d %q", code, stderr)
	}
	if code, _, stderr := command("keyset", "rotate", "--data", dir); code != 0 {
		t.Errorf("rotate: %d %q", code, stderr)
	}
	h.stop()
	again := startProcess(t, nil, append(atGitHub(dir, at, gh.URL), "--github-client-secret-file", writeSecret(t, clientSecret))...)
	again.lines(1)
	if resp, err := ada.Get("http://" + at + "/api/me"); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("after the key was changed and a restart ada is signed out: %v", err)
	}
	again.stop()
	if again.out.Buffered() > 0 || len(again.said) != 1 {
		t.Errorf("with an admin it says %q", again.said)
	}
	verifyAudit(t, dir)
	for _, secret := range []string{clientSecret, code} {
		if strings.Contains(h.stderr.String()+again.stderr.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

func verifyAudit(t *testing.T, dir string) {
	t.Helper()
	code, out, stderr := command("audit", "export", "--data", dir)
	if code != 0 {
		t.Fatalf("export: %d %q", code, stderr)
	}
	seen, rows := map[string]bool{}, 0
	for scan := bufio.NewScanner(strings.NewReader(out)); scan.Scan(); rows++ {
		var e claudehub.AuditEntry
		check(t, json.Unmarshal(scan.Bytes(), &e))
		if e.Seq != int64(rows+1) {
			t.Errorf("line %d is %d", rows+1, e.Seq)
		}
		seen[e.Action+" "+string(e.Outcome)+" "+e.Login] = true
	}
	for _, want := range []string{"sign-in ok ada", "setup.redeem ok ada", "keyset.rotate ok "} {
		if !seen[want] {
			t.Errorf("no %q among %v", want, seen)
		}
	}
	if _, out, _ := command("audit", "export", "--data", dir, "--actor", "ada", "--action", "setup."); strings.Count(out, "\n") == 0 || strings.Contains(out, "keyset") {
		t.Errorf("filtered it is %q", out)
	}
	code, out, stderr = command("audit", "verify", "--data", dir)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("Rows:  %d\n", rows)) || !strings.Contains(out, "First: ") || !strings.Contains(out, "is whole") {
		t.Errorf("verify: %d %q %q", code, out, stderr)
	}
	info, err := os.Stat(filepath.Join(dir, "audit-head"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the head is %v, %v", info, err)
	}

	db, err := sql.Open("sqlite", filepath.Join(dir, "hub.db"))
	check(t, err)
	defer db.Close()
	tamper := func(query string, words ...string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query)
		check(t, err)
		code, out, stderr := command("audit", "verify", "--data", dir)
		if code != 1 || !oneSentence(stderr, words...) || !strings.Contains(out, "Line ") {
			t.Errorf("after %s: %d %q %q", query, code, out, stderr)
		}
		code, out, _ = command("audit", "verify", "--data", dir, "--json")
		var r struct{ Broken []struct{ Seq int64 } }
		if err := json.Unmarshal([]byte(out), &r); code != 1 || err != nil || len(r.Broken) == 0 {
			t.Errorf("as JSON: %d %s", code, out)
		}
	}
	tamper(fmt.Sprintf(`DELETE FROM audit WHERE seq = %d`, rows), fmt.Sprintf("from line %d on", rows-1), "cut off")
	tamper(`UPDATE audit SET login = 'eve' WHERE seq = 2`, "from line 2 on")
	tamper(`DELETE FROM audit WHERE seq = 1`, "from line 2 on", "missing")
}

// TestCompletionOfTheProgram asks the real shells.
func TestCompletionOfTheProgram(t *testing.T) {
	bin := t.TempDir()
	check(t, os.WriteFile(filepath.Join(bin, "claude-hub"), []byte("#!/bin/sh\n"+asProgram+"=1 exec "+os.Args[0]+" \"$@\"\n"), 0o700))
	for shell, args := range map[string][]string{
		"bash": {"--norc", "--noprofile", "-c", `source <(claude-hub completion bash); COMP_WORDS=(claude-hub audit ver); COMP_CWORD=2; _claude_hub; echo "${COMPREPLY[@]}"`},
		"zsh": {"-f", "-c", `compdef() { : }; source <(claude-hub completion zsh); compadd() { print -r -- "${(@P)@[-1]}" }
			words=(claude-hub audit ver); CURRENT=3; _claude_hub`},
		"fish": {"--no-config", "-c", `claude-hub completion fish | source; complete -C "claude-hub audit ver"`},
	} {
		cmd := exec.CommandContext(t.Context(), shell, args...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
		if err != nil || first != "verify" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
}
