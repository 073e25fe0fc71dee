package claude

import (
	"log/slog"
	"strings"

	"claude-hub/internal/claudehub"
)

// Token is a setup token. It prints as a placeholder; Secret is the one way to the text itself.
type Token struct{ secret string }

const (
	tokenPrefix = "sk-ant-oat01-"
	// The length of a setup token is not promised by its maker, so the bounds are wide.
	minToken = 40
	maxToken = 512
)

// ParseToken checks the shape of a setup token that a person gave. White space around it, which copying brings along,
// is dropped. Whether Anthropic accepts it shows only when it is used.
func ParseToken(s string) (Token, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return Token{}, tokenError("There is no setup token. Run `claude setup-token` on a machine where you are signed in, and give the text that it prints.")
	case strings.HasPrefix(s, "sk-ant-api"):
		return Token{}, tokenError("This is an API key, which is billed by use. A setup token begins with %s; run `claude setup-token` to get one.", tokenPrefix)
	case strings.HasPrefix(s, "sk-ant-ort"):
		return Token{}, tokenError("This is a refresh token of a sign-in. A setup token begins with %s; run `claude setup-token` to get one.", tokenPrefix)
	case strings.ContainsAny(s, " \t\r\n"):
		return Token{}, tokenError("The setup token has a space or a line break inside. Copy it again as one line.")
	case strings.HasPrefix(s, "\"") || strings.HasPrefix(s, "'") || strings.Contains(s, "="):
		return Token{}, tokenError("Give the setup token alone, without quotes and without a name before it.")
	case !strings.HasPrefix(s, tokenPrefix):
		return Token{}, tokenError("This does not look like a setup token: it begins with %s. Run `claude setup-token` to get one.", tokenPrefix)
	case !tokenText(s):
		return Token{}, tokenError("The setup token has a character that no token has. Copy it again.")
	case len(s) < minToken:
		return Token{}, tokenError("The setup token is too short (%d characters): a part of it is missing. Copy it again.", len(s))
	case len(s) > maxToken:
		return Token{}, tokenError("The setup token is too long (%d characters): something was copied along with it.", len(s))
	}
	return Token{s}, nil
}

func tokenError(format string, args ...any) error {
	return claudehub.Errorf(claudehub.Invalid, format, args...)
}

func tokenText(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Secret returns the token itself, for the environment of Claude Code and for the keychain alone.
func (t Token) Secret() string { return t.secret }

// IsZero tells that there is none.
func (t Token) IsZero() bool { return t.secret == "" }

func (t Token) String() string {
	if t.IsZero() {
		return "no setup token"
	}
	return tokenPrefix + "…"
}

// GoString keeps %#v from showing the field.
func (t Token) GoString() string { return "claude.Token(" + t.String() + ")" }

// LogValue keeps it out of logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText keeps it out of JSON.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
