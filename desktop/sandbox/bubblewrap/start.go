//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Start brings a Sandbox up; see sandbox.Backend.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) error {
	ctx, cancel := within(ctx, startTimeout)
	defer cancel()
	if err := b.check(spec); err != nil {
		return err
	}
	unlock, err := b.lock(ctx, spec.ID)
	if err != nil {
		return err
	}
	defer unlock()
	box := b.box(spec.ID)
	switch state, _, err := b.look(ctx, spec.ID); {
	case err != nil:
		return err
	case state == sandbox.Running:
		return nil
	case state == sandbox.Sick:
		return claudehub.Errorf(claudehub.Conflict, "The Sandbox %s is there and does not answer. Stop it, and start it again.", spec.ID)
	}
	if err := b.refuse(ctx); err != nil {
		return err
	}
	known := box.exists()
	if err := b.clear(ctx, spec.ID); err != nil {
		return err
	}
	l := &launch{b: b, spec: spec, box: box}
	if err := l.run(ctx); err != nil {
		tail := box.logTail()
		l.undo(context.WithoutCancel(ctx))
		if !known {
			_ = removeTree(box.dir) // what matters has failed already
		}
		return b.explain(ctx, err, tail)
	}
	return nil
}

// refuse returns the first reason why no Sandbox can start here, of those that cost nothing to see.
func (b *Backend) refuse(ctx context.Context) error {
	for _, f := range b.glance(ctx) {
		if !f.OK && f.Fatal {
			return claudehub.Errorf(claudehub.Unavailable, "No Sandbox can start on this machine: %s. %s", strings.TrimSuffix(f.Detail, "."), f.Fix)
		}
	}
	return nil
}

// explain finds the sentence for a start that failed: the doctor's, when it sees a reason; what bwrap said otherwise.
func (b *Backend) explain(ctx context.Context, err error, tail string) error {
	var told *claudehub.Error
	if errors.As(err, &told) {
		return err
	}
	cause := err
	if tail = strings.TrimSpace(tail); tail != "" {
		cause = fmt.Errorf("%w: %s", err, tail)
	}
	if ctx.Err() != nil {
		return claudehub.WithCause(claudehub.Unavailable, cause, "The Sandbox was not ready in time. Try again; if that does not help, look at what the machine is busy with.")
	}
	if f := b.trial(ctx); !f.OK {
		return claudehub.WithCause(claudehub.Unavailable, cause, "No Sandbox can start on this machine: %s. %s", strings.TrimSuffix(f.Detail, "."), f.Fix)
	}
	if tail != "" {
		return claudehub.WithCause(claudehub.Internal, cause, "The Sandbox did not start: %s", lastLine(tail))
	}
	return claudehub.WithCause(claudehub.Internal, cause, "The Sandbox did not start. The log has the details.")
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }
