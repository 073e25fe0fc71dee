package fleet

import "strings"

const maxNext = 512 // bytes of an address within this Hub

// LocalPath is s if it is an address within this Hub and nothing else, and "/" otherwise: where a browser goes after a
// sign-in must not be a stranger's choice of another site. Browsers take a backslash for a slash, drop tabs and line
// ends, and read two slashes as the begin of a host.
func LocalPath(s string) string {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' || r >= 0x80 && r < 0xa0 }
	if len(s) > maxNext || !strings.HasPrefix(s, "/") || strings.Contains(s, "//") || strings.ContainsFunc(s, odd) {
		return "/"
	}
	return s
}
