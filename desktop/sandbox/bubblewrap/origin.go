//go:build linux

package bubblewrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// origin is what a Sandbox is made of. It stays when the Sandbox is stopped, and goes when it is removed.
type origin struct {
	Image sandbox.Image `json:"image,omitempty"`
	Build bool          `json:"build,omitempty"`
	Relay uint16        `json:"relay,omitempty"`
	// Copying is set while a build's copy is made: until then it needs the Image.
	Copying bool `json:"copying,omitempty"`
}

func (x box) originFile() string { return filepath.Join(x.dir, "origin.json") }
func (x box) root() string       { return filepath.Join(x.dir, "root") }
func (x box) tmp() string        { return filepath.Join(x.dir, "tmp") }

// origin is nil for a Sandbox that is not there, or only half.
func (x box) origin() (*origin, error) {
	raw, err := os.ReadFile(x.originFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read origin: %w", err)
	}
	var o origin
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("read origin of %s: %w", x.dir, err)
	}
	return &o, nil
}

func (x box) saveOrigin(o origin) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode origin: %w", err)
	}
	half := x.originFile() + ".new"
	if err := os.WriteFile(half, raw, 0o600); err != nil {
		return fmt.Errorf("write origin: %w", err)
	}
	if err := os.Rename(half, x.originFile()); err != nil {
		return fmt.Errorf("write origin: %w", err)
	}
	return nil
}

// found prepares what a Sandbox starts from: the Image, taken so that nobody removes it, or a build's own copy.
func (l *launch) found(ctx context.Context) error {
	if err := os.MkdirAll(l.box.dir, 0o700); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox's folder %s cannot be made. Free some space there, or mend its permissions.", l.box.dir)
	}
	image := l.spec.Image
	if image == "" && !l.spec.Build {
		return l.box.saveOrigin(origin{Relay: l.spec.Relay.Port})
	}
	if l.spec.Build && image == "" {
		return claudehub.Errorf(claudehub.Invalid, "A build needs a base image: choose one for the Environment, debian:bookworm for example.")
	}
	o := origin{Image: image, Build: l.spec.Build, Relay: l.spec.Relay.Port, Copying: l.spec.Build}
	if err := l.take(ctx, o); err != nil {
		return err
	}
	if !l.spec.Build {
		l.tree = tree{root: l.b.imageRoot(image)}
		return nil
	}
	l.tree = tree{root: l.box.root(), tmp: l.box.tmp()}
	if err := l.copyRoot(ctx, l.b.imageRoot(image)); err != nil {
		return err
	}
	o.Copying = false
	return l.box.saveOrigin(o)
}

// take writes down that this Sandbox needs an Image, so that nobody removes it.
func (l *launch) take(ctx context.Context, o origin) error {
	unlock, err := l.b.lockImage(ctx, string(o.Image))
	if err != nil {
		return err
	}
	defer unlock()
	if !l.b.hasImage(o.Image) && !l.resumes() {
		return claudehub.Errorf(claudehub.NotFound, "The Image %s is not on this machine. Build the Environment again.", o.Image)
	}
	return l.box.saveOrigin(o)
}

// resumes tells that a build has its own system already.
func (l *launch) resumes() bool {
	_, err := os.Lstat(l.box.root())
	return l.spec.Build && err == nil
}

// copyRoot gives a build a system of its own. One that was begun before, and stopped, goes on with what it has.
func (l *launch) copyRoot(ctx context.Context, from string) error {
	if !l.resumes() {
		half := l.box.root() + ".new"
		if err := removeTree(half); err != nil {
			return err
		}
		if err := copyTree(ctx, from, half); err != nil {
			_ = removeTree(half) // what matters has failed already
			return full(err, l.b.state)
		}
		if err := os.Rename(half, l.box.root()); err != nil {
			return fmt.Errorf("copy image: %w", err)
		}
	}
	if err := os.MkdirAll(l.box.tmp(), 0o700); err != nil {
		return full(err, l.b.state)
	}
	if err := os.Chmod(l.box.tmp(), 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("make build's /tmp: %w", err)
	}
	root, err := os.OpenRoot(l.box.root())
	if err != nil {
		return fmt.Errorf("open build: %w", err)
	}
	defer root.Close()
	return full(ensure(root, l.spec.Mounts), l.b.state)
}
