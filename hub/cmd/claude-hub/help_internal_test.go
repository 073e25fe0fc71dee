package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/*.txt anew")

// TestHelp compares what --help says with what it said: a flag or a verb that changes is seen here.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("HOME", "/home/somebody")
	for name, args := range map[string][]string{
		"help":         {"--help"},
		"serve":        {"serve", "--help"},
		"sign-in-link": {"sign-in-link", "--help"},
		"setup-code":   {"setup-code", "--help"},
		"audit-verify": {"audit", "verify", "--help"},
		"audit-export": {"audit", "export", "--help"},
		"login":        {"login", "--help"},
		"tokens-new":   {"tokens", "new", "--help"},
		"attach":       {"sessions", "attach", "--help"},
	} {
		code, out, stderr := command(args...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: %d %q", name, code, stderr)
		}
		path := filepath.Join("testdata", "help-"+name+".txt")
		if *update {
			check(t, os.WriteFile(path, []byte(out), 0o644))
			continue
		}
		want, err := os.ReadFile(path)
		check(t, err)
		if out != string(want) {
			t.Errorf("%s says\n%s\nand not what %s has; with -update it does", name, out, path)
		}
	}
}

// Every verb says what it prints as JSON, or prints nothing else.
func TestEveryVerbHasJSON(t *testing.T) {
	for _, verb := range []string{
		"sign-in-link", "setup-code", "runner add", "runner token", "keyset rotate", "keyset reset", "audit verify", "audit export",
		"healthcheck", "version", "login", "logout", "sessions list", "sessions new", "sessions sleep", "sessions wake", "sessions archive",
		"sessions unarchive", "sessions prompt", "runners", "tokens list", "tokens new", "tokens revoke",
	} {
		if code, out, _ := command(append(strings.Fields(verb), "--help")...); code != 0 || !strings.Contains(out, "--json") {
			t.Errorf("%s has no --json", verb)
		}
	}
}
