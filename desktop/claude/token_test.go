package claude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
)

var goodToken = "sk-ant-oat01-" + strings.Repeat("Ab3_-", 18)

func TestTokenShapes(t *testing.T) {
	for _, s := range []string{goodToken, "  " + goodToken + "\r\n"} {
		if tok, err := claude.ParseToken(s); err != nil || tok.Secret() != goodToken {
			t.Errorf("%q: %v", s, err)
		}
	}
	for in, want := range map[string]string{
		"":                                     "no setup token",
		"sk-ant-api03-abc":                     "API key",
		"sk-ant-ort01-abc":                     "refresh token",
		goodToken[:40] + "\n" + goodToken[40:]: "line break",
		`"` + goodToken + `"`:                  "without quotes",
		"CLAUDE_CODE_OAUTH_TOKEN=" + goodToken: "without quotes",
		"hello":                                "does not look like",
		"sk-ant-oat01-abc":                     "too short",
		goodToken + "é":                        "a character that no token has",
		goodToken + strings.Repeat("a", 600):   "too long",
	} {
		_, err := claude.ParseToken(in)
		if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), want) {
			t.Errorf("%q: %v", in, err)
		}
		if len(in) > 45 && strings.Contains(err.Error(), in[13:40]) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func TestTokenNeverPrints(t *testing.T) {
	tok, err := claude.ParseToken(goodToken)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", tok, "struct", struct{ T claude.Token }{tok})
	j, err := json.Marshal(struct{ T claude.Token }{tok})
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(j) + fmt.Sprintf("%s %v %+v %#v %q", tok, tok, tok, tok, tok)
	if strings.Contains(all, goodToken[13:30]) {
		t.Error(all)
	}
}

func TestLaunch(t *testing.T) {
	tok, _ := claude.ParseToken(goodToken)
	l := claude.Launch{
		Program: "/opt/claude", SessionID: "0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f0000", Model: "opus", Effort: "default",
		Plugins: []string{"/opt/mod"}, ConfigDir: "/claude", SpoolDir: "/report", Token: tok, BaseURL: "http://127.0.0.1:1", Env: []string{"A=b"},
	}
	argv, env := l.Command()
	if got, want := strings.Join(argv, " "), "/opt/claude --dangerously-skip-permissions --session-id 0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f0000 --model opus --plugin-dir /opt/mod"; got != want {
		t.Errorf("argv %s", got)
	}
	all := strings.Join(env, "\n")
	for _, want := range []string{"CLAUDE_CONFIG_DIR=/claude", "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_HUB_REPORT=/report",
		"CLAUDE_CODE_OAUTH_TOKEN=" + goodToken, "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "A=b"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in\n%s", want, all)
		}
	}
	l.Resume, l.Effort, l.Model, l.BaseURL, l.Token = true, "high", "", "", claude.Token{}
	argv, env = l.Command()
	if got := strings.Join(argv[2:], " "); got != "--resume 0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f0000 --effort high --plugin-dir /opt/mod" {
		t.Errorf("argv %s", got)
	}
	if all := strings.Join(env, "\n"); strings.Contains(all, "OAUTH") || strings.Contains(all, "ANTHROPIC") {
		t.Error(all)
	}
}
