//go:build !linux

package main

import (
	"log/slog"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// backend says that there is none: a Session is never started without a Sandbox.
func (c *cli) backend(string, *slog.Logger) (sandbox.Backend, error) {
	return nil, claudehub.Errorf(claudehub.Unavailable,
		"This version of the Runner has Sandboxes for Linux only (bubblewrap). Run it on a Linux machine; the Hub itself runs here.")
}
