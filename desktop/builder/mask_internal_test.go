package builder

import (
	"bytes"
	"strings"
	"testing"
)

func masked(secrets []string, pieces ...string) string {
	var out bytes.Buffer
	m := newMask(secrets, func(p []byte) { out.Write(p) })
	for _, p := range pieces {
		m.write([]byte(p))
	}
	m.end()
	return out.String()
}

func TestMask(t *testing.T) {
	for _, c := range []struct {
		secrets []string
		pieces  []string
		want    string
	}{
		{nil, []string{"plain"}, "plain"},
		{[]string{"secret"}, []string{"a secret b"}, "a *** b"},
		{[]string{"secret"}, []string{"a sec", "ret b"}, "a *** b"},
		{[]string{"secret"}, []string{"a s", "e", "c", "r", "e", "t"}, "a ***"},
		{[]string{"secret"}, []string{"a secre"}, "a secre"},
		{[]string{"secret"}, []string{"a secre", "x secret"}, "a secrex ***"},
		{[]string{"abc", "abcdef"}, []string{"abcdef abc abcd"}, "*** *** ***d"},
		{[]string{"abc", "abcdef"}, []string{"abc", "de", "f", "abcde", "g"}, "******deg"},
		{[]string{"aab"}, []string{"aaaab"}, "aa***"},
		{[]string{"x", "", "ab"}, []string{"x ab"}, "x ab"},
		{[]string{"word\n"}, []string{"a word\nb word c"}, "a ***b *** c"},
		{[]string{"-----KEY-----\nline-of-the-key\n"}, []string{"  line-of-the-key\n"}, "  ***\n"},
	} {
		if got := masked(c.secrets, c.pieces...); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.secrets, c.pieces, got, c.want)
		}
	}
}

// FuzzMask: however the stream is cut, the result is that of the whole, and no secret is in it.
func FuzzMask(f *testing.F) {
	f.Add("a secret and more", "secret", "and", 3, 7)
	f.Add("aaaaaaab", "aaab", "aab", 1, 2)
	f.Fuzz(func(t *testing.T, text, one, two string, a, b int) {
		if len(text) == 0 || a < 0 || b < 0 || strings.ContainsAny(one+two, "*\n") || strings.TrimSpace(one) != one || strings.TrimSpace(two) != two {
			return
		}
		a, b = a%len(text), b%len(text)
		if a > b {
			a, b = b, a
		}
		secrets := []string{one, two}
		whole := masked(secrets, text)
		if cut := masked(secrets, text[:a], text[a:b], text[b:]); cut != whole {
			t.Errorf("%q: cut at %d and %d: %q, whole: %q", text, a, b, cut, whole)
		}
		for _, s := range secrets {
			if len(s) >= shortestSecret && strings.Contains(strings.ReplaceAll(whole, "***", "\x00"), s) && !strings.Contains(s, "\x00") {
				t.Errorf("%q is in %q", s, whole)
			}
		}
	})
}

func TestFailedLine(t *testing.T) {
	for _, c := range []struct {
		tail    string
		line    int
		command string
	}{
		{"", 0, ""},
		{"claude-hub: line 7: exit code 2: make -j x\n", 7, "make -j x"},
		{"claude-hub: line 3: exit code 1: false\nmore\nclaude-hub: line 9: exit code 1: f\n", 9, "f"},
		{scriptPath + ": line 4: syntax error: unexpected end of file\n", 4, ""},
		{scriptPath + ": 5: no-such: not found\n", 5, ""},
		{"claude-hub: line 99999999999999999999: exit code 1: x", 1<<63 - 1, "x"},
	} {
		if line, command := failedLine(c.tail); line != c.line || command != c.command {
			t.Errorf("%q: %d, %q", c.tail, line, command)
		}
	}
}
