package anthropic_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The real Claude Code is satisfied by the stand-in: a tool runs, and its result comes back.
func TestRealClaudeCode(t *testing.T) {
	program := os.Getenv("CLAUDE_HUB_TEST_CLAUDE")
	if program == "" {
		var err error
		if program, err = exec.LookPath("claude"); err != nil {
			t.Fatal("Claude Code is needed: set CLAUDE_HUB_TEST_CLAUDE to its program, or put claude on the PATH")
		}
	}
	f := start(t, `{"rules":[{"contains":"run it","steps":[{"say":"Running."},{"tool":"Bash","input":{"command":"echo tool-$((40+2))","description":"count"}},{"say":"It printed ${result}"}]}],"expect":{"effort":"high"}}`)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-p", "--dangerously-skip-permissions", "--effort", "high", "--model", "opus", "run it")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "config"),
		"IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"ANTHROPIC_BASE_URL=" + f.url, "CLAUDE_CODE_OAUTH_TOKEN=" + token}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "It printed tool-42" {
		t.Fatalf("%v\n%s", err, out)
	}
	log := f.server.Log()
	if len(log.Failures) != 0 || len(log.Prompts) != 1 || log.Prompts[0].Starts != 1 || log.Prompts[0].Requests != 2 {
		t.Errorf("log %+v", log)
	}
	for _, q := range log.Requests {
		if q.Kind == "prompt" && (!strings.Contains(q.Model, "opus") || q.Effort != "high" || q.Tools == 0) {
			t.Errorf("request %+v", q)
		}
	}
}
