package github

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

const maxTokenLen = 1024

var errToken = errors.New("that is not a stored GitHub token")

// Token is what GitHub gave the Hub to ask with for one person. It never prints itself. The secret lies behind a function
// because fmt calls no String of a field that is not exported, and looks through pointers (%s does): a function it can
// only print the address of.
type Token struct{ secret func() tokenSecret }

func (s tokenSecret) token() Token { return Token{func() tokenSecret { return s }} }

type tokenSecret struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

func tokenOf(t *oauth2.Token) (Token, error) {
	s := tokenSecret{t.AccessToken, t.RefreshToken, t.Expiry.UTC()}
	if !strings.EqualFold(t.Type(), "bearer") || !s.good() {
		return Token{}, errToken
	}
	return s.token(), nil
}

func (s tokenSecret) good() bool { return s.Access != "" && visible(s.Access) && visible(s.Refresh) }

// visible tells whether a token can stand in a header.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= maxTokenLen
}

// Reveal returns the token in clear, for the one place that seals it and stores it.
func (t Token) Reveal() []byte {
	if t.IsZero() {
		return nil
	}
	b, err := json.Marshal(t.secret())
	if err != nil {
		panic(err) // two strings and a time always marshal
	}
	return b
}

// ParseToken reads what Reveal wrote.
func ParseToken(b []byte) (Token, error) {
	var s tokenSecret
	if err := json.Unmarshal(b, &s); err != nil || !s.good() { // err would quote the token
		return Token{}, errToken
	}
	return s.token(), nil
}

// IsZero tells a token that was never given.
func (t Token) IsZero() bool { return t.secret == nil }

// Expires returns when the token ends; zero is never.
func (t Token) Expires() time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.secret().Expires
}

// String hides the secret.
func (t Token) String() string {
	if t.IsZero() {
		return "(no token)"
	}
	return "(GitHub token)"
}

// GoString hides the secret from %#v too.
func (t Token) GoString() string { return t.String() }

// LogValue hides the secret from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText hides the secret from encoders: a token in clear is written in one named place, by Reveal.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
