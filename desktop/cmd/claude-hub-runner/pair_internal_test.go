package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// asProgram marks this test binary, run again as the program itself.
const asProgram = "CLAUDE_HUB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program runs claude-hub-runner on a folder; stdin nil is /dev/null.
func program(t *testing.T, dir string, stdin []byte, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--dir", dir}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, asProgram + "=1"}
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// approvingHub approves each code at once, and keeps what was asked.
func approvingHub(t *testing.T, token claudehub.Token, id claudehub.RunnerID) (url string, asked func() []wire.DeviceRequest) {
	t.Helper()
	var mu sync.Mutex
	var requests []wire.DeviceRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case wire.DeviceCodePath:
			var in wire.DeviceRequest
			_ = json.NewDecoder(r.Body).Decode(&in) // what does not parse stays empty, and is seen
			mu.Lock()
			requests = append(requests, in)
			mu.Unlock()
			page := "http://" + r.Host + "/device"
			_ = json.NewEncoder(w).Encode(wire.DeviceCode{
				DeviceCode: "chd_x", UserCode: "BDFG-HJKL", VerificationURI: page, Complete: page + "?code=BDFG-HJKL", ExpiresIn: 900, Interval: 1,
			})
		case wire.DeviceTokenPath:
			_ = json.NewEncoder(w).Encode(wire.DeviceToken{Token: token.Reveal(), Runner: string(id), Name: "my laptop", Login: "mona"})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []wire.DeviceRequest {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

// TestPairByCode: what a person sees, what is kept, and how the machine asks to be the same Runner again.
func TestPairByCode(t *testing.T) {
	token, id := claudehub.NewToken(claudehub.RunnerToken), claudehub.NewRunnerID()
	hub, asked := approvingHub(t, token, id)
	dir := filepath.Join(t.TempDir(), "r")
	_, said, code := program(t, dir, nil, "pair", "--hub", hub+"/", "--name", "my laptop")
	if code != 0 || !strings.Contains(said, "BDFG-HJKL") || !strings.Contains(said, hub+"/device") || !strings.Contains(said, "as my laptop. It belongs to mona") {
		t.Fatalf("pair: %d %s", code, said)
	}
	if strings.Contains(said, "chd_") || strings.Contains(said, token.Reveal()) {
		t.Error("a credential was shown")
	}
	out, said, code := program(t, dir, nil, "paired")
	if code != 0 || out != hub+"\n" || !strings.Contains(said, string(id)) {
		t.Errorf("paired: %d %q %s", code, out, said)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "keys", "runner-token"))
	if err != nil || string(kept) != token.Reveal() {
		t.Errorf("the token is not kept: %v", err)
	}
	if _, said, code := program(t, dir, nil, "unpair"); code != 0 || !strings.Contains(said, "revoke it") {
		t.Errorf("unpair: %d %s", code, said)
	}
	if _, said, code := program(t, dir, nil, "paired"); code != 1 || !strings.Contains(said, "not paired") {
		t.Errorf("paired, after unpair: %d %s", code, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "keys", "runner-token")); !os.IsNotExist(err) {
		t.Errorf("the token is still there: %v", err)
	}
	if _, said, code := program(t, dir, []byte{}, "pair", "--hub", hub); code != 0 {
		t.Errorf("pair again, from a program that says nothing: %d %s", code, said)
	}
	if got := asked(); len(got) != 2 || got[0].Again != "" || got[0].Name != "my laptop" || got[1].Again != string(id) {
		t.Errorf("it asked %+v", got)
	}
	elsewhere, others := approvingHub(t, token, id)
	if _, said, code := program(t, dir, nil, "pair", "--hub", elsewhere); code != 0 || others()[0].Again != "" {
		t.Errorf("at another Hub: %d %s %+v", code, said, others())
	}
}

// TestPairByHand: scripts pipe a token in, with the flag or without.
func TestPairByHand(t *testing.T) {
	token := claudehub.NewToken(claudehub.RunnerToken)
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"as scripts do":    {token.Reveal() + "\n", nil, 0, "Paired with http://127.0.0.1:1."},
		"with the flag":    {token.Reveal(), []string{"--token-stdin"}, 0, "Paired with http://127.0.0.1:1."},
		"flag and nothing": {"", []string{"--token-stdin"}, 1, "not a Runner token"},
		"another token":    {claudehub.NewToken(claudehub.BrowserToken).Reveal(), nil, 1, "not a Runner token"},
		"nonsense":         {"hello\n", nil, 1, "not a Runner token"},
		"in clear":         {token.Reveal(), []string{"--hub", "http://hub.example.org"}, 1, "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r")
			_, said, code := program(t, dir, []byte(c.stdin), append([]string{"pair", "--hub", "http://127.0.0.1:1"}, c.args...)...)
			if code != c.code || !strings.Contains(said, c.says) || strings.Contains(said, token.Reveal()) {
				t.Errorf("%d %s", code, said)
			}
			_, _, paired := program(t, dir, nil, "paired")
			if (paired == 0) != (c.code == 0) {
				t.Errorf("paired says %d", paired)
			}
		})
	}
}

func TestOpener(t *testing.T) {
	for want, envs := range map[string][]map[string]string{
		"":         {{}, {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, {"DISPLAY": ":0", "SSH_TTY": "x"}},
		"xdg-open": {{"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}},
	} {
		for _, env := range envs {
			if got := opener("linux", func(k string) string { return env[k] }); got != want {
				t.Errorf("%v: %q", env, got)
			}
		}
	}
	if got := opener("darwin", func(string) string { return "" }); got != "open" {
		t.Errorf("darwin: %q", got)
	}
}

func TestRunnerName(t *testing.T) {
	if got := runnerName(""); got == "" {
		t.Error("a machine has no name")
	}
	if got := []rune(runnerName(strings.Repeat("é", 100))); len(got) != maxName {
		t.Errorf("%d letters", len(got))
	}
}
