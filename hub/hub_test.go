package hub_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/hub"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := hub.Listen(t.Context(), "127.0.0.1:0")
	check(t, err)
	return ln
}

// start runs a Hub and returns its URL and how to stop it.
func start(t *testing.T, cfg hub.Config) (url string, stop func() error) {
	t.Helper()
	h, err := hub.New(t.Context(), cfg, quiet)
	check(t, err)
	ln := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, ln) }()
	return "http://" + ln.Addr().String(), func() error { cancel(); return <-done }
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	check(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, string(b)
}

func TestRunAndStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "hub")
	metrics := listen(t)
	cfg := good(dir)
	cfg.MetricsListen = metrics.Addr().String()
	metrics.Close()
	url, stop := start(t, cfg)
	if got, _ := get(t, url+"/healthz"); got != http.StatusOK {
		t.Errorf("healthz: %d", got)
	}
	if _, body := get(t, url+"/metrics"); strings.Contains(body, "claude_hub_") {
		t.Error("metrics are where browsers come")
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", cfg.MetricsListen)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got, body := get(t, "http://"+cfg.MetricsListen+"/metrics"); got != http.StatusOK || !strings.Contains(body, "claude_hub_requests_total") {
		t.Errorf("metrics: %d %s", got, body)
	}
	if got := hub.Address(dir); got != url {
		t.Errorf("the address is written as %q", got)
	}
	info, err := os.Stat(dir)
	check(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory has mode %v", info.Mode())
	}
	if _, err := hub.New(t.Context(), good(dir), quiet); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("a second Hub on the same data: %v", err)
	}
	check(t, stop())
	_, stop = start(t, good(dir)) // the lock is free again
	check(t, stop())
}

// A part that cannot run ends the Hub: it does not stay up in half.
func TestPartFails(t *testing.T) {
	taken := listen(t)
	defer taken.Close()
	cfg := good(t.TempDir())
	cfg.MetricsListen = taken.Addr().String()
	h, err := hub.New(t.Context(), cfg, quiet)
	check(t, err)
	err = h.Run(t.Context(), listen(t))
	if claudehub.CodeOf(err) != claudehub.Conflict || !strings.Contains(claudehub.MessageOf(err), cfg.MetricsListen) {
		t.Errorf("the error is %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check(t, os.WriteFile(file, []byte("x"), 0o600))
	open := filepath.Join(dir, "open")
	check(t, os.Mkdir(open, 0o700))
	check(t, os.Chmod(open, 0o777))
	noise := filepath.Join(dir, "noise")
	check(t, os.Mkdir(noise, 0o700))
	check(t, os.WriteFile(filepath.Join(noise, "hub.db"), []byte(strings.Repeat("noise", 1000)), 0o600))
	nats := good(filepath.Join(dir, "nats"))
	nats.NatsURL = "nats://127.0.0.1:1"
	for name, c := range map[string]struct {
		cfg  hub.Config
		want string
	}{
		"a file":             {good(file), "is a file"},
		"under a file":       {good(filepath.Join(file, "x")), "is a file"},
		"writable by others": {good(open), "chmod 700"},
		"no database":        {good(noise), "damaged"},
		"no NATS":            {nats, "NATS"},
		"no loopback":        {hub.Config{Store: hub.Store{Data: dir}, Listen: ":1", LogLevel: "info"}, "local mode"},
	} {
		h, err := hub.New(t.Context(), c.cfg, quiet)
		if err == nil {
			h.Close()
			t.Errorf("%s: it started", name)
			continue
		}
		if msg := claudehub.MessageOf(err); !strings.Contains(msg, c.want) {
			t.Errorf("%s: %q", name, msg)
		}
	}
	// What was refused holds no lock.
	check(t, os.Remove(filepath.Join(noise, "hub.db")))
	h, err := hub.New(t.Context(), good(noise), quiet)
	check(t, err)
	h.Close()
}

func TestListen(t *testing.T) {
	ln := listen(t)
	defer ln.Close()
	_, err := hub.Listen(t.Context(), ln.Addr().String())
	if claudehub.CodeOf(err) != claudehub.Conflict || !strings.Contains(claudehub.MessageOf(err), "in use") {
		t.Errorf("a port in use: %v", err)
	}
	if _, err = hub.Listen(t.Context(), "[2001:db8::1]:0"); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("an address that is not ours: %v", err)
	}
}

func TestAdmin(t *testing.T) {
	cfg := good(t.TempDir())
	a, err := hub.OpenAdmin(t.Context(), cfg.Store, quiet)
	check(t, err)
	defer a.Close()
	if _, err := a.SignInLink(t.Context(), ""); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("a link to nowhere: %v", err)
	}
	url, stop := start(t, cfg) // beside a Hub that runs
	get(t, url+"/healthz")
	link, err := a.SignInLink(t.Context(), "")
	check(t, err)
	if !strings.HasPrefix(link, url+"/sign-in#chl_") {
		t.Errorf("the link is %q", link[:len(url)])
	}
	first, err := a.AddRunner(t.Context(), "box")
	check(t, err)
	second, err := a.NewRunnerToken(t.Context(), "box")
	check(t, err)
	if first.Reveal() == second.Reveal() || !strings.HasPrefix(second.Reveal(), "chr_") {
		t.Error("the new token is the old one")
	}
	if _, err := a.NewRunnerToken(t.Context(), "none"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("no such Runner: %v", err)
	}
	check(t, stop())
}
