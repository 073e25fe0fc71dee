//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"os"
	"syscall"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// Exec starts a process in a running Sandbox; see sandbox.Backend. Each has a connection of its own.
func (b *Backend) Exec(ctx context.Context, id sandbox.ID, cmd sandbox.Command) (sandbox.Process, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, execTimeout)
	defer cancel()
	conn, err := agent.Dial(ctx, b.box(id).socket())
	if err != nil {
		return nil, unreachable(id, err)
	}
	p, err := conn.Exec(ctx, cmd)
	if err != nil {
		return nil, unreachable(id, err)
	}
	return p, nil
}

// unreachable is the sentence for an agent that could not be asked; other errors pass.
func unreachable(id sandbox.ID, err error) error {
	var told *claudehub.Error
	switch {
	case errors.As(err, &told):
		return err
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return claudehub.WithCause(claudehub.NotFound, err, "The Sandbox %s is not running. Start it first.", id)
	default:
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox %s does not answer. Stop it, and start it again.", id)
	}
}
