package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/microsandbox"
	"claude-hub/internal/claudehub"
)

// backendFlag is what the command line says of the Backend.
type backendFlag struct {
	Backend string `help:"What Sandboxes are made with: microsandbox, bubblewrap, or auto for the strongest that works here." default:"auto" enum:"auto,bubblewrap,microsandbox" env:"CLAUDE_HUB_BACKEND"`
}

// glanceTimeout bounds the look at what this machine can do, before anything starts.
const glanceTimeout = 30 * time.Second

// vmDir is where microVMs are kept. The path is short on purpose: sockets live in it.
func vmDir(dir string) string { return filepath.Join(dir, "vm") }

// microVMs makes that Backend. CLAUDE_HUB_PATIENCE multiplies its deadlines, for emulated machines.
func microVMs(dir string, log *slog.Logger) (*microsandbox.Backend, error) {
	return microsandbox.New(microsandbox.Options{State: vmDir(dir), Patience: patience(), Log: log})
}

// hinted is a Backend whose doctor has one more line.
type hinted struct {
	sandbox.Backend
	hint sandbox.Finding
}

// Check adds the hint.
func (h hinted) Check(ctx context.Context) []sandbox.Finding {
	return append(h.Backend.Check(ctx), h.hint)
}

// possible says why Sandboxes here are no microVMs, and what would make them so. It stops nothing.
func possible(err error) sandbox.Finding {
	return sandbox.Finding{
		Name: "microVMs", Detail: "not used here: " + claudehub.MessageOf(err),
		Fix: "Sessions run in bubblewrap meanwhile, which shares this machine's kernel. With KVM, claude-hub-runner doctor --install fetches what microVMs need.",
	}
}
