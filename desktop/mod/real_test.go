package mod_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/desktop/claude/claudetest"
	"claude-hub/desktop/mod"
	"claude-hub/internal/standin/anthropic"
)

const token = "sk-ant-oat01-for-the-tests-of-the-plugin-alone-0000000000"

// run gives the real Claude Code one prompt, with the plugin installed, and returns what was reported.
func run(t *testing.T, script, spool, prompt string) []mod.Event {
	t.Helper()
	parsed, err := anthropic.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := anthropic.New(anthropic.Options{Script: parsed, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	plugins, _ := installed(t)
	dir := t.TempDir()
	secret, err := claude.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	argv, env := claude.Launch{
		Program: claudetest.Program(t), SessionID: "0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f5678", Plugins: []string{filepath.Join(plugins, mod.Name)},
		ConfigDir: filepath.Join(dir, "config"), SpoolDir: spool, Token: secret, BaseURL: h.URL,
		Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
	}.Command()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-p")...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(prompt)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(spool); err != nil {
		return nil
	}
	return drain(t, mod.Spool{Dir: spool})
}

func names(events []mod.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Name)
	}
	return all
}

func TestRealEventsOfATurn(t *testing.T) {
	script := `{"rules":[{"steps":[{"tool":"Bash","input":{"command":"true","description":"Do nothing"}},{"say":"All done."}]}]}`
	prompt := "please " + strings.Repeat("a long line of text 한글 🙂\n", 1000) + "end"
	events := run(t, script, t.TempDir(), prompt)
	want := []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"}
	if got := names(events); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if e := events[1]; e.Prompt != prompt || e.PromptID == "" {
		t.Errorf("a prompt of %d bytes came as %d", len(prompt), len(e.Prompt))
	}
	if e := events[2]; e.Tool != "Bash" || e.Message != "Do nothing" || e.PromptID != events[1].PromptID {
		t.Errorf("%+v", e)
	}
	if e := events[4]; e.LastAssistantMessage != "All done." || e.SessionID != "0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f5678" {
		t.Errorf("%+v", e)
	}
}

// Without a folder to report to, Claude Code works as ever.
func TestRealWithoutSpool(t *testing.T) {
	run(t, `{}`, filepath.Join(t.TempDir(), "none"), "hello")
}
