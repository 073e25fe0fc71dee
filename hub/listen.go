package hub

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"syscall"

	"claude-hub/internal/claudehub"
)

// Listen opens an address, or says in a sentence why that is not possible.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, claudehub.WithCause(claudehub.Conflict, err,
			"The address %s is in use: another program, perhaps another Hub, listens there. Stop it, or choose another port.", address)
	case errors.Is(err, fs.ErrPermission):
		return nil, claudehub.WithCause(claudehub.Invalid, err,
			"Listening on %s is not permitted. Choose a port of 1024 or above.", address)
	}
	return nil, claudehub.WithCause(claudehub.Invalid, err, "Listening on %s is not possible: this machine has no such address. Choose another.", address)
}
