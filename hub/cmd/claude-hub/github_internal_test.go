package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

const clientSecret = "the-client-secret-of-this-test-7f3a"

// atGitHub are the flags of a Hub that people sign in to with GitHub, but for the secret.
func atGitHub(dir, listen, github string) []string {
	return []string{"--data", dir, "--listen", listen, "--github-client-id", "Iv1.test", "--github-url", github, "--allow", "login:ada", "--log-level", "debug"}
}

func TestSetUp(t *testing.T) {
	dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
	args := append(atGitHub(dir, at, "http://127.0.0.1:1"), "--github-client-secret-file", writeSecret(t, clientSecret))
	code, out, stderr := command("setup-code", "--data", dir)
	if code != 1 || out != "" || !oneSentence(stderr, "has not run yet") {
		t.Errorf("before the first start: %d %q %q", code, out, stderr)
	}
	h := startProcess(t, nil, args...)
	said := h.lines(2)
	if said[0] != "Sign in: http://"+at {
		t.Errorf("it says %q", said[0])
	}
	first := setupCode(t, said[1])
	if !strings.Contains(said[1], "http://"+at+"/setup") {
		t.Errorf("it says %q", said[1])
	}
	code, out, stderr = command("setup-code", "--data", dir)
	second := setupCode(t, strings.TrimSpace(out))
	if code != 0 || second == first {
		t.Errorf("another code: %d %q", code, stderr)
	}
	code, out, _ = command("setup-code", "--data", dir, "--json")
	var made struct{ Code, URL string }
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.URL != "http://"+at+"/setup" {
		t.Errorf("as JSON: %d %v", code, err)
	}
	for verb, word := range map[string]string{"sign-in-link": "setup-code", "runner add --name box": "claude-hub-runner pair", "runner token --name box": "claude-hub-runner pair"} {
		code, out, stderr := command(append(strings.Fields(verb), "--data", dir)...)
		if code != 1 || out != "" || !oneSentence(stderr, "GitHub", word) {
			t.Errorf("%s: %d %q %q", verb, code, out, stderr)
		}
	}
	if code, _, stderr = command("healthcheck", "--data", dir); code != 0 {
		t.Errorf("healthcheck: %d %q", code, stderr)
	}
	h.stop()
	for _, c := range []string{first, second, made.Code} {
		if strings.Contains(h.stderr.String(), c) {
			t.Error("a set-up code is in the log")
		}
	}
	again := startProcess(t, nil, args...)
	if third := setupCode(t, again.lines(2)[1]); third == first || third == second {
		t.Error("a start without an admin prints the old code")
	}
	again.stop()
}

func setupCode(t *testing.T, line string) string {
	t.Helper()
	rest, _ := strings.CutPrefix(line, "Set-up code: ")
	code, _, _ := strings.Cut(rest, " ")
	if _, err := claudehub.ParseToken(claudehub.SetupToken, code); err != nil {
		t.Fatalf("there is no set-up code in %q", line)
	}
	return code
}

// In local mode nobody needs a set-up code.
func TestNoSetUpInLocalMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hub")
	h := startHub(t, "--listen", "127.0.0.1:0", "--data", dir)
	code, out, stderr := command("setup-code", "--data", dir)
	if code != 1 || out != "" || !oneSentence(stderr, "local mode", "sign-in-link") {
		t.Errorf("%d %q %q", code, out, stderr)
	}
	h.stop()
}

// TestTheClientSecretIsNowhere looks for it wherever a Hub leaves something.
func TestTheClientSecretIsNowhere(t *testing.T) {
	for _, way := range []string{"file", "environment"} {
		t.Run(way, func(t *testing.T) {
			dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
			args, env := atGitHub(dir, at, "http://127.0.0.1:1"), []string{hub.SecretEnv + "=" + clientSecret}
			if way == "file" {
				args, env = append(args, "--github-client-secret-file", writeSecret(t, clientSecret)), nil
			}
			h := startProcess(t, env, args...)
			h.lines(2)
			h.url = "http://" + at
			h.get("/api/hub")
			absent := func(where string, text []byte) {
				t.Helper()
				if bytes.Contains(text, []byte(clientSecret)) {
					t.Errorf("it is in %s", where)
				}
			}
			proc := fmt.Sprintf("/proc/%d/", h.cmd.Process.Pid)
			argv, err := os.ReadFile(proc + "cmdline")
			check(t, err)
			absent("the command line", argv)
			if way == "file" {
				own, err := os.ReadFile(proc + "environ")
				check(t, err)
				absent("the environment", own)
			}
			children, err := filepath.Glob(proc + "task/*/children")
			check(t, err)
			for _, path := range children {
				pids, err := os.ReadFile(path)
				check(t, err)
				for _, pid := range strings.Fields(string(pids)) {
					for _, of := range []string{"environ", "cmdline"} {
						b, err := os.ReadFile("/proc/" + pid + "/" + of)
						check(t, err)
						absent("a child's "+of, b)
					}
				}
			}
			h.stop()
			absent("the log", h.stderr.Bytes())
			absent("the output", []byte(strings.Join(h.said, "\n")))
			check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				b, err := os.ReadFile(path)
				absent(path, b)
				return err
			}))
		})
	}
}

// What is started from a Hub has no part in its secret.
func TestTheEnvironmentIsEmptied(t *testing.T) {
	t.Setenv(hub.SecretEnv, " "+clientSecret+"\n")
	s := secretFromEnvironment()
	if _, there := os.LookupEnv(hub.SecretEnv); there {
		t.Error("it is in the environment still")
	}
	if s != hub.NewSecret(clientSecret) {
		t.Error("it is not what was there")
	}
}

func TestAConfigurationDoesNotPrintItsSecret(t *testing.T) {
	c := hub.Config{GitHub: hub.GitHub{ClientID: "Iv1.test", ClientSecret: hub.NewSecret(clientSecret), Recheck: time.Minute}}
	var log bytes.Buffer
	newLog(&log, slog.LevelDebug).Info("x", "config", c, "secret", c.ClientSecret)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "secret", c.ClientSecret)
	b, err := json.Marshal(c)
	check(t, err)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%s %q", c.ClientSecret, c.ClientSecret), string(b), log.String()} {
		if strings.Contains(text, clientSecret) || !strings.Contains(text, "(secret)") {
			t.Errorf("it prints as %s", text)
		}
	}
}

func TestSecretFileRefusals(t *testing.T) {
	dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
	file := func(text string, mode os.FileMode) string {
		path := writeSecret(t, text)
		check(t, os.Chmod(path, mode))
		return path
	}
	toml := filepath.Join(t.TempDir(), "hub.toml")
	check(t, os.WriteFile(toml, []byte("github-client-secret = \""+clientSecret+"\"\n"), 0o600))
	serve := append([]string{"serve"}, atGitHub(dir, at, "http://127.0.0.1:1")...)
	with := func(path string) []string {
		return append(append([]string{}, serve...), "--github-client-secret-file", path)
	}
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"for the group": {with(file(clientSecret, 0o640)), []string{"Others can read", "0640", "chmod 600"}},
		"for all":       {with(file(clientSecret, 0o604)), []string{"Others can read", "chmod 600"}},
		"no file":       {with(filepath.Join(dir, "none")), []string{"none", "is not there"}},
		"a folder":      {with(t.TempDir()), []string{"is no file"}},
		"empty":         {with(file("\n", 0o600)), []string{"alone on one line"}},
		"two words":     {with(file(clientSecret+"\n"+clientSecret, 0o600)), []string{"alone on one line"}},
		"a flag":        {append(append([]string{}, serve...), "--github-client-secret", clientSecret), []string{"--github-client-secret"}},
		"in the TOML":   {append([]string{"--config", toml}, serve...), []string{"hub.toml", "github-client-secret-file"}},
		"none at all":   {serve, []string{"by half", hub.SecretEnv}},
	} {
		code, out, stderr := command(c.args...)
		if code != 1 || out != "" || !oneSentence(stderr, c.words...) {
			t.Errorf("%s: %d %q %q", name, code, out, stderr)
		}
		if strings.Contains(stderr, clientSecret) {
			t.Errorf("%s: the secret is shown", name)
		}
	}
}

// The whole configuration can be in the file.
func TestConfigurationFile(t *testing.T) {
	dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
	config := filepath.Join(t.TempDir(), "hub.toml")
	check(t, os.WriteFile(config, []byte(fmt.Sprintf(`
data = %q
listen = %q
public-url = "https://hub.example.org"
github-client-id = "Iv1.test"
github-client-secret-file = %q
github-url = "http://127.0.0.1:1"
allow = ["login:ada", "org:acme", "team:acme/platform"]
recheck = "5m"
behind-proxy = ["127.0.0.1", "10.0.0.0/8"]
`, dir, at, writeSecret(t, clientSecret))), 0o600))
	h := startProcess(t, nil, "--config", config)
	if said := h.lines(2); said[0] != "Sign in: https://hub.example.org" {
		t.Errorf("it says %q", said)
	}
	h.stop()
	for key, words := range map[string][]string{
		`acme = ["hub.example.org"]`:            {"--acme", "--behind-proxy"},
		`acme-directory = "https://ca.example"`: {"--acme-directory"},
		`tls-cert = "/c"`:                       {"--tls-key"},
		`tls-key = "/k"`:                        {"--tls-cert"},
		`http-listen = ":80"`:                   {"--http-listen"},
		`notice = ["a", 1]`:                     {"notice", "quotes"},
	} {
		more := filepath.Join(t.TempDir(), "more.toml")
		b, err := os.ReadFile(config)
		check(t, err)
		check(t, os.WriteFile(more, append(b, key...), 0o600))
		if code, _, stderr := command("serve", "--config", more); code != 1 || !oneSentence(stderr, words...) {
			t.Errorf("%s: %d %q", key, code, stderr)
		}
	}
}
