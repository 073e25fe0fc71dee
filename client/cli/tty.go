package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"claude-hub/internal/claudehub"
)

type fd interface{ Fd() uintptr }

// size is the person's terminal's, within what a Session's can be.
func size(out fd) (cols, rows int, err error) {
	cols, rows, err = term.GetSize(int(out.Fd()))
	if err != nil {
		return 0, 0, claudehub.WithCause(claudehub.Internal, err, "Your terminal does not tell its size.")
	}
	return min(max(cols, claudehub.MinCols), claudehub.MaxCols), min(max(rows, claudehub.MinRows), claudehub.MaxRows), nil
}

// enter takes the person's terminal, and gives the way to hand it back.
func enter(in *os.File, out io.Writer, name string) (restore func(), err error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Internal, err, "Your terminal cannot be used for this.")
	}
	restore = func() {
		_, _ = io.WriteString(out, leaving)
		_ = term.Restore(int(in.Fd()), before)
	}
	if _, err := io.WriteString(out, entering+title(name)); err != nil {
		restore()
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "Your terminal is gone.")
	}
	return restore, nil
}

// follow follows the size of the person's terminal until ctx ends.
func (s *seat) follow(ctx context.Context, out fd) error {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if cols, rows, err := size(out); err == nil {
			s.resized(cols, rows)
		}
	}
}
