package redact_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/redact"
)

// secrets are of every shape that must not be seen; none was ever good for anything.
func secrets() []string {
	return []string{
		claudehub.NewToken(claudehub.RunnerToken).Reveal(),
		claudehub.NewToken(claudehub.BrowserToken).Reveal(),
		claudehub.NewToken(claudehub.SignInToken).Reveal(),
		"sk-ant-oat01-test-value-" + strings.Repeat("x", 60),
		"ghs_" + strings.Repeat("t", 36),
	}
}

func TestNoCredentialPasses(t *testing.T) {
	for _, secret := range secrets() {
		var out bytes.Buffer
		log := slog.New(redact.New(slog.NewJSONHandler(&out, nil)))
		log = log.With("with", "Bearer "+secret).WithGroup("group")
		log.Info("message "+secret,
			"string", secret,
			"error", fmt.Errorf("wrapped: %w", errors.New(secret)),
			"struct", struct{ Field string }{secret},
			"bytes", map[string]string{"k": secret},
			slog.Group("inner", "deep", secret),
			secret, 1,
		)
		if strings.Contains(out.String(), secret[12:]) {
			t.Errorf("a %s credential is in the log: %s", secret[:4], out.String())
		}
		if !strings.Contains(out.String(), "wrapped: ") {
			t.Errorf("the rest of the line is gone: %s", out.String())
		}
	}
}

func TestPlainTextStays(t *testing.T) {
	for _, s := range []string{"", "chr_", "a chapter_of text", "ses_06d8m0000000000000000000", "charm_bracelet"} {
		if got := redact.Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}
