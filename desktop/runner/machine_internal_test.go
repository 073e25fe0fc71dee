//go:build linux

package runner

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/claude/claudetest"
	"claude-hub/desktop/mod"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/standin/anthropic"
)

// computer is a machine with real Sandboxes on which Runners come and go, and a fake Hub far away.
type computer struct {
	t       *testing.T
	hub     *fakeHub
	backend *bubblewrap.Backend
	cfg     Config
	log     *logs

	pasteTime, illTime time.Duration // zero is the Runner's own
	adjust             func(*Runner) // before it runs
	pairing            *PairingStore // nil for a token that is kept nowhere

	state *State
	stop  context.CancelFunc
	ended chan error
}

var guest = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, dir)
	path := filepath.Join(dir, "claude-hub-guest")
	cmd := exec.Command("go", "build", "-o", path, "claude-hub/desktop/cmd/claude-hub-guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

const standInToken = "sk-ant-oat01-stand-in-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// newComputer makes one whose Claude Code is a shell that looks like it.
func newComputer(t *testing.T) *computer {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "ch-run-") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	guest, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	backend, err := bubblewrap.New(bubblewrap.Options{State: SandboxDir(dir), Guest: guest, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	shell, err := filepath.Abs("../../internal/rig/shell.sh")
	if err != nil {
		t.Fatal(err)
	}
	modDir := filepath.Join(dir, "mod")
	if err := mod.Install(modDir); err != nil {
		t.Fatal(err)
	}
	c := &computer{t: t, hub: newFakeHub(t), backend: backend, log: &logs{}, cfg: Config{
		Dir: dir, Backend: backend, ModDir: modDir,
		Program:    func(context.Context, func(string, float64)) (string, error) { return shell, nil },
		SetupToken: func(context.Context) (string, error) { return standInToken, nil },
	}}
	t.Cleanup(func() {
		c.kill()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		boxes, err := backend.List(ctx)
		for _, b := range boxes {
			err = errors.Join(err, backend.Remove(ctx, b.ID))
		}
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the Runner's log:\n%s", c.log.text())
		}
	})
	return c
}

// builder makes one as a Runner process does. A machine's default base is a small root of its own programs.
func (c *computer) builder() *builder.Builder {
	c.t.Helper()
	root, err := rootfs()
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := builder.New(builder.Options{
		Backend: c.backend, Dir: filepath.Join(c.cfg.Dir, "builds"), Smoke: SmokeTest(), Log: slog.New(slog.NewTextHandler(c.log, nil)),
		DefaultBase: claudehub.Base{Kind: claudehub.BaseDirectory, Ref: root},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// withClaude gives it the real Claude Code and the stand-in for Anthropic.
func (c *computer) withClaude(script string) *anthropic.Server {
	c.t.Helper()
	parsed, err := anthropic.ParseScript([]byte(script))
	if err != nil {
		c.t.Fatal(err)
	}
	server, err := anthropic.New(anthropic.Options{Script: parsed, Token: standInToken})
	if err != nil {
		c.t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	c.t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	program := claudetest.Program(c.t)
	c.cfg.Program = func(context.Context, func(string, float64)) (string, error) { return program, nil }
	c.cfg.AnthropicURL, c.cfg.StandIn = h.URL, true
	return server
}

// start starts a Runner.
func (c *computer) start() {
	c.t.Helper()
	state, err := OpenState(c.t.Context(), c.cfg.Dir)
	if err != nil {
		c.t.Fatal(err)
	}
	hub, err := NewHub(c.hub.URL, c.hub.token)
	if c.pairing != nil {
		hub, err = OpenHub(c.t.Context(), c.pairing)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	c.state, c.stop, c.ended = state, cancel, make(chan error, 1)
	c.cfg.Builder = c.builder()
	r := New(c.cfg, state, hub, slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r.parts.pasteTime, r.parts.illTime = cmp.Or(c.pasteTime, pasteTime), cmp.Or(c.illTime, illTime)
	if c.adjust != nil {
		c.adjust(r)
	}
	go func() {
		err := r.Run(ctx)
		hub.client.CloseIdleConnections()
		hub.streaming.CloseIdleConnections()
		c.ended <- err
	}()
}

// kill ends the Runner, if one runs, and leaves its Sandboxes.
func (c *computer) kill() {
	if c.stop == nil {
		return
	}
	c.stop()
	c.stop = nil
	if err := errors.Join(<-c.ended, c.state.Close()); err != nil {
		c.t.Error(err)
	}
	// What is said to the next one must not go to this one's stream.
	c.hub.told(c.t, "the Runner is gone", func() bool { return len(c.hub.streams) == 0 })
}

// session makes a Session that is wanted awake.
func (c *computer) session() claudehub.SessionID {
	return claudehub.NewSessionID()
}

// run runs a shell command in a Session's Sandbox.
func (c *computer) run(id claudehub.SessionID, script string) string {
	c.t.Helper()
	p, err := c.backend.Exec(c.t.Context(), sandbox.ID(id), sandbox.Command{Path: "sh", Args: []string{"-c", script}, Dir: "/"})
	if err != nil {
		c.t.Fatal(err)
	}
	defer p.Close()
	_ = p.Stdin().Close()
	go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }()
	b, err := io.ReadAll(p.Stdout())
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := p.Wait(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// life is the terminal's life that the Runner has on disk.
func (c *computer) life(id claudehub.SessionID) string {
	c.t.Helper()
	records, err := c.state.Records(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range records {
		if r.Desired.ID == id {
			return r.Local.Life
		}
	}
	return ""
}
