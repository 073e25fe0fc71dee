package repocheck_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
)

var (
	tokenRow = regexp.MustCompile("(?m)^\\| `(ch[a-z]_)` \\| [^|]+ \\| `([^`]+)` \\|$")
	anyToken = regexp.MustCompile("(?m)^All of them at once: `([^`]+)`$")
)

// TestDocumentedTokensAreThoseThatWeMake: each kind has a pattern in SECURITY.md, which finds what is made, wherever it
// stands, and no other kind; and the checksum is what is said there.
func TestDocumentedTokensAreThoseThatWeMake(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := map[claudehub.TokenKind]*regexp.Regexp{}
	for _, m := range tokenRow.FindAllStringSubmatch(string(body), -1) {
		kind := claudehub.TokenKind(m[1])
		if patterns[kind] != nil {
			t.Errorf("%s is there twice", kind)
		}
		patterns[kind] = regexp.MustCompile(m[2])
	}
	if len(patterns) != len(claudehub.TokenKinds) {
		t.Errorf("SECURITY.md has %d kinds, and there are %d", len(patterns), len(claudehub.TokenKinds))
	}
	m := anyToken.FindStringSubmatch(string(body))
	if m == nil {
		t.Fatal("SECURITY.md has no pattern for all of them")
	}
	all := regexp.MustCompile(m[1])
	for _, kind := range claudehub.TokenKinds {
		if patterns[kind] == nil {
			t.Errorf("SECURITY.md has no pattern for %s", kind)
			continue
		}
		for range 200 {
			token := claudehub.NewToken(kind).Reveal()
			for _, around := range []string{"%s", "TOKEN=%s\n", `{"token":"%s"}`, "https://hub.example.org/join#%s", "Bearer %s.", "(%s)"} {
				text := fmt.Sprintf(around, token)
				if got := patterns[kind].FindString(text); got != token {
					t.Fatalf("the pattern for %s finds %q in %q", kind, got, text)
				}
				if got := all.FindAllString(text, -1); len(got) != 1 || got[0] != token {
					t.Fatalf("the pattern for all finds %q in %q", got, text)
				}
			}
			for other, p := range patterns {
				if other != kind && p.MatchString(token) {
					t.Fatalf("the pattern for %s finds %q", other, token)
				}
			}
			if short := token[:len(token)-1]; all.MatchString(short) || all.MatchString(token+"0") {
				t.Fatalf("what is too short or too long is found: %q", token)
			}
			head, sum := token[:len(token)-8], token[len(token)-8:]
			if want := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(head))); sum != want {
				t.Fatalf("the checksum of %q is not the one that SECURITY.md describes: %s", token, want)
			}
		}
	}
}

// TestPathsInSecurityExist is TestPathsInReadmeExist for SECURITY.md.
func TestPathsInSecurityExist(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range named.FindAllStringSubmatch(string(body), -1) {
		if strings.ContainsAny(m[1], "*") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("SECURITY.md names %s, which does not exist", m[1])
		}
	}
}
