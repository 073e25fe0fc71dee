package claudehub

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"log/slog"
	"strings"
)

// TokenKind is the prefix of a credential: it says who holds it.
type TokenKind string

// The kinds of token this program makes.
const (
	RunnerToken  TokenKind = "chr_" // a Runner, at /runner/*
	BrowserToken TokenKind = "chb_" // a browser session's cookie
	SignInToken  TokenKind = "chl_" // a one-time sign-in link
	APITokenKind TokenKind = "chp_" // a person's script or CLI, at /api
	DeviceToken  TokenKind = "chd_" // a device that waits for a person's approval
	JoinToken    TokenKind = "chj_" // a link that lets its holder watch a Session
	SetupToken   TokenKind = "chq_" // the set-up code that makes the first admin
	ModToken     TokenKind = "chm_" // a Session's mod, at the Hub
	SandboxToken TokenKind = "chs_" // a Session's Sandbox, at the Runner's relay
)

// TokenKinds are all of them: what a secret scanner looks for, and what must be in no log.
var TokenKinds = []TokenKind{RunnerToken, BrowserToken, SignInToken, APITokenKind, DeviceToken, JoinToken, SetupToken, ModToken, SandboxToken}

// Token is a credential in clear: prefix, 32 random bytes, checksum. It never prints itself.
// At rest only its Hash is kept.
type Token struct{ secret string }

const (
	tokenSecretLen   = 43 // 32 bytes in unpadded base64url
	tokenChecksumLen = 8  // CRC-32 in hexadecimal
)

// NewToken makes a token of a kind.
func NewToken(kind TokenKind) Token {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead (crypto/rand)
	body := string(kind) + base64.RawURLEncoding.EncodeToString(b[:])
	return Token{body + checksum(body)}
}

// ParseToken accepts a token of exactly this kind with a right checksum. It says nothing about whether anyone knows it.
func ParseToken(kind TokenKind, s string) (Token, error) {
	rest, ok := strings.CutPrefix(s, string(kind))
	if !ok || len(rest) != tokenSecretLen+tokenChecksumLen {
		return Token{}, Errorf(Unauthenticated, "That is not a valid credential.")
	}
	body, sum := s[:len(s)-tokenChecksumLen], s[len(s)-tokenChecksumLen:]
	if subtle.ConstantTimeCompare([]byte(checksum(body)), []byte(sum)) != 1 {
		return Token{}, Errorf(Unauthenticated, "That is not a valid credential.")
	}
	return Token{s}, nil
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return hex.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// Reveal returns the token in clear, for the one place that hands it on.
func (t Token) Reveal() string { return t.secret }

// Hash is what is kept at rest: SHA-256 in hexadecimal. The tokens are random, so no salt is needed.
func (t Token) Hash() string {
	sum := sha256.Sum256([]byte(t.secret))
	return hex.EncodeToString(sum[:])
}

// IsZero tells a token that was never set.
func (t Token) IsZero() bool { return t.secret == "" }

// String hides the secret, so that a token in a log line or an error shows its kind alone.
func (t Token) String() string {
	if len(t.secret) < 4 {
		return "(no token)"
	}
	return t.secret[:4] + "…"
}

// GoString hides the secret from %#v too.
func (t Token) GoString() string { return t.String() }

// LogValue hides the secret from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText hides the secret from encoders: a token in clear is written in one named place, by Reveal.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
