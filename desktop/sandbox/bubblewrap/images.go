//go:build linux

package bubblewrap

import (
	"context"
	"net"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

var errNoImages = claudehub.Errorf(claudehub.Unavailable, "This version cannot build Environments with bubblewrap.")

// NeedsBase is false: a Sandbox borrows the machine's own system.
func (b *Backend) NeedsBase() bool { return false }

// Import is not there yet.
func (b *Backend) Import(context.Context, string, sandbox.Image, func(float64)) error {
	return errNoImages
}

// Commit is not there yet.
func (b *Backend) Commit(context.Context, sandbox.ID, sandbox.Image) error { return errNoImages }

// Images lists none.
func (b *Backend) Images(context.Context) ([]sandbox.ImageInfo, error) { return nil, nil }

// RemoveImage has nothing to remove.
func (b *Backend) RemoveImage(context.Context, sandbox.Image) error { return nil }

// Reclaim has nothing to remove.
func (b *Backend) Reclaim(context.Context) (int64, error) { return 0, nil }

// Ping asks the agent for a sign of life; see sandbox.Backend.
func (b *Backend) Ping(context.Context, sandbox.ID) error { return errNoImages }

// Dial connects to a port; see sandbox.Backend.
func (b *Backend) Dial(context.Context, sandbox.ID, uint16) (net.Conn, error) { return nil, errNoImages }

// RelayURL is where the relay is; see sandbox.Backend.
func (b *Backend) RelayURL(context.Context, sandbox.ID) (string, error) { return "", errNoImages }
