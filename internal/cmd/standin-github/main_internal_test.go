package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/internal/standin/github"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = `{"app":{"clientID":"Iv","redirects":["http://127.0.0.1:9/back"]},"people":[{"id":1,"login":"ada"}]}`

func TestSaysWhereItListensSignsInAndStops(t *testing.T) {
	dir := t.TempDir()
	secretFile, file := filepath.Join(dir, "secret"), filepath.Join(dir, "script.json")
	write(t, secretFile, "the-secret-of-the-test\n")
	write(t, file, script)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- program().Run(ctx, []string{"--script", file, "--client-secret-file", secretFile}, w, io.Discard)
	}()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("first line %q", line)
	}
	if second, _ := out.ReadString('\n'); !strings.Contains(second, "stand-in") || strings.Contains(second, "the-secret") {
		t.Errorf("second line %q", second)
	}
	back, err := github.Visit(ctx, http.DefaultClient, url+"/login/oauth/authorize?client_id=Iv&state=s&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fback", "ada")
	if err != nil || back.Query().Get("code") == "" || back.Query().Get("state") != "s" {
		t.Error(back, err)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	empty, bad, good := filepath.Join(dir, "empty"), filepath.Join(dir, "bad"), filepath.Join(dir, "good")
	write(t, empty, "\n")
	write(t, bad, "{")
	write(t, good, script)
	for _, args := range [][]string{
		{}, {"--script", bad}, {"--script", filepath.Join(dir, "none")}, {"--script", good, "--listen", "0.0.0.0:0"},
		{"--script", good, "--listen", ":0"}, {"--script", good, "--listen", "192.0.2.1:0"}, {"--script", good, "--listen", "localhost:0"},
		{"--script", good, "--listen", "x"}, {"--script", good, "--client-secret-file", empty},
		{"--script", good, "--client-secret-file", filepath.Join(dir, "none")}, {"--script", good, "more"}, {"--what"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if err := program().Run(ctx, args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
		cancel()
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
