package fleet_test

import (
	"net/url"
	"strings"
	"testing"

	"claude-hub/hub/fleet"
)

func TestLocalPath(t *testing.T) {
	for in, want := range map[string]string{
		"/":                            "/",
		"/sessions/ses_1?a=b#c":        "/sessions/ses_1?a=b#c",
		"/device?code=BDFG-HJKL":       "/device?code=BDFG-HJKL",
		"/Größe":                       "/Größe",
		"":                             "/",
		"sessions":                     "/",
		"//evil.example":               "/",
		"/\\evil.example":              "/",
		"\\\\evil.example":             "/",
		"/\t/evil.example":             "/",
		"/a\r\nSet-Cookie: x=y":        "/",
		"https://evil.example/":        "/",
		"javascript:alert(1)":          "/",
		"/a//b":                        "/",
		"/a\x00b":                      "/",
		"/\xff":                        "/",
		" /a":                          "/",
		"/" + strings.Repeat("a", 511): "/" + strings.Repeat("a", 511),
		"/" + strings.Repeat("a", 512): "/",
	} {
		if got := fleet.LocalPath(in); got != want {
			t.Errorf("LocalPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, s := range []string{"/", "/a?b=c", "//x", "/\\x", "/\t/x", "http://x", "/a\x85b", "/%2f%2fx", "/.//x"} {
		f.Add(s)
	}
	base, err := url.Parse("https://hub.example.org/api/auth/github/callback")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := fleet.LocalPath(s)
		if fleet.LocalPath(got) != got {
			t.Errorf("%q becomes %q, and that something else", s, got)
		}
		if got != s && got != "/" {
			t.Errorf("%q becomes %q", s, got)
		}
		// As browsers read it: without tabs and line ends, and with slashes for backslashes.
		seen := strings.ReplaceAll(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.TrimSpace(got)), "\\", "/")
		if !strings.HasPrefix(seen, "/") || strings.HasPrefix(seen, "//") {
			t.Errorf("%q becomes %q, which leads elsewhere", s, got)
		}
		if u, err := base.Parse(got); err == nil && (u.Host != base.Host || u.Scheme != base.Scheme) {
			t.Errorf("%q leads to %s", s, u)
		}
	})
}
