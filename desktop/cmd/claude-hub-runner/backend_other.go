//go:build !linux

package main

import (
	"log/slog"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// backend makes microVMs: nothing else isolates a Session here, and none is ever started without a Sandbox.
func (c *cli) backend(dir string, log *slog.Logger) (sandbox.Backend, error) {
	if c.Backend == "bubblewrap" {
		return nil, claudehub.Errorf(claudehub.Invalid, "bubblewrap is for Linux. Leave --backend out, or choose microsandbox.")
	}
	return microVMs(dir, log)
}
