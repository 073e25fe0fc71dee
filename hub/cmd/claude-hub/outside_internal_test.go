package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// What the README shows is what the program takes.
func TestReadmeConfiguration(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	check(t, err)
	m := regexp.MustCompile("(?s)```toml\n(.*?)```").FindSubmatch(readme)
	if m == nil {
		t.Fatal("README.md shows no configuration")
	}
	app, err := kong.New(&verbs{}, kong.Vars{"data": "x"})
	check(t, err)
	known := flagNames(app.Model.Node)
	remarked := regexp.MustCompile(`(?m)^# ([a-z-]+ = .*)$`)
	texts := []string{string(m[1])}
	for _, line := range remarked.FindAllStringSubmatch(string(m[1]), -1) {
		texts = append(texts, line[1])
	}
	if len(texts) < 6 {
		t.Errorf("the ways to get a certificate are not shown: %q", texts)
	}
	for _, text := range texts {
		path := filepath.Join(t.TempDir(), "hub.toml")
		check(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := readConfig(path, known); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// A proxy that is named says where callers are; anybody else who claims to is not believed.
func TestBehindProxy(t *testing.T) {
	for proxy, want := range map[string]string{"127.0.0.1": `"from":"203.0.113.9"`, "10.0.0.0/8": `"from":"127.0.0.1"`} {
		dir, at := filepath.Join(t.TempDir(), "hub"), freePort(t)
		h := startProcess(t, nil, append(atGitHub(dir, at, "http://127.0.0.1:1"), "--github-client-secret-file", writeSecret(t, clientSecret),
			"--public-url", "https://hub.example.org", "--behind-proxy", proxy)...)
		h.lines(2)
		req, err := http.NewRequest(http.MethodGet, "http://"+at+"/api/me", nil)
		check(t, err)
		req.Header.Set("X-Forwarded-For", "198.51.100.1, 203.0.113.9")
		resp, err := http.DefaultClient.Do(req)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("it answers %s, %v", resp.Status, resp.Header)
		}
		h.stop()
		if !strings.Contains(h.stderr.String(), want) {
			t.Errorf("behind %s there is no %s in %s", proxy, want, h.stderr)
		}
	}
}
