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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSaysWhereItListensAndStops(t *testing.T) {
	dir := t.TempDir()
	tokenFile, script := filepath.Join(dir, "token"), filepath.Join(dir, "script.json")
	write(t, tokenFile, "sk-ant-oat01-main-test\n")
	write(t, script, `{"default":[{"say":"hello"}]}`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- program().Run(ctx, []string{"--script", script, "--token-file", tokenFile}, w, io.Discard)
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
	if second, _ := out.ReadString('\n'); !strings.Contains(second, "stand-in") || strings.Contains(second, "sk-ant") {
		t.Errorf("second line %q", second)
	}
	req, _ := http.NewRequestWithContext(ctx, "GET", url+"/v1/models", nil)
	req.Header.Set("Authorization", "Bearer sk-ant-oat01-main-test")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	empty, bad := filepath.Join(dir, "empty"), filepath.Join(dir, "bad")
	write(t, empty, "\n")
	write(t, bad, "{")
	for _, args := range [][]string{
		{"--listen", "0.0.0.0:0"}, {"--listen", ":0"}, {"--listen", "192.0.2.1:0"}, {"--listen", "localhost:0"}, {"--listen", "x"},
		{"--token-file", empty}, {"--token-file", filepath.Join(dir, "none")}, {"--script", bad}, {"more"}, {"--what"},
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
