package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"claude-hub/desktop/process"
	"claude-hub/internal/claudehub"
)

// Package is what Install asks npm for.
func Package() (string, error) {
	names := map[string]string{
		"linux/amd64": "linux-x64-gnu", "linux/arm64": "linux-arm64-gnu", "darwin/arm64": "darwin-arm64",
	}
	name, ok := names[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", claudehub.Errorf(claudehub.Unavailable, "microsandbox has no build for %s/%s. Use Linux with KVM, or a Mac with Apple silicon.", runtime.GOOS, runtime.GOARCH)
	}
	return "@superradcompany/microsandbox-" + name + "@" + Pinned, nil
}

// Install fetches msb with the npm client into the state folder, where only this Runner uses it, and makes sure that it
// runs. Nothing of the package is executed for that but msb itself.
func (b *Backend) Install(ctx context.Context) error {
	ctx, cancel := b.within(ctx, copyTimeout)
	defer cancel()
	pkg, err := Package()
	if err != nil {
		return err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "msb is installed with npm, which is not on the PATH. Install Node.js, or put msb %s on the PATH yourself.", Pinned)
	}
	unlock, err := b.lock(ctx, ".install")
	if err != nil {
		return err
	}
	defer unlock()
	dir, err := os.MkdirTemp(b.tmp(), "install-")
	if err != nil {
		return noRecord(b.tmp(), err)
	}
	defer os.RemoveAll(dir)
	r, err := process.Run(ctx, process.Command{
		Path: npm, Dir: dir, Args: []string{"install", "--prefix", dir, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", pkg},
	})
	if err != nil || r.Code != 0 {
		return claudehub.WithCause(claudehub.Unavailable, errors.Join(err, errors.New(tail(r.Stderr))),
			"npm could not fetch %s. Check this machine's network and npm's settings, and try again.", pkg)
	}
	return b.adopt(ctx, dir)
}

// adopt takes an unpacked package into the state folder, once it has shown that it runs.
func (b *Backend) adopt(ctx context.Context, dir string) error {
	found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@superradcompany", "microsandbox-*", "bin", "msb")) // the pattern is good
	if len(found) != 1 {
		return claudehub.Errorf(claudehub.Unavailable, "What npm fetched holds no msb program. Put msb %s on the PATH yourself.", Pinned)
	}
	if err := os.Chmod(found[0], 0o755); err != nil {
		return fmt.Errorf("install msb: %w", err)
	}
	version, err := b.version(ctx, found[0])
	if err != nil {
		return err
	}
	if version != Pinned {
		return claudehub.Errorf(claudehub.Unavailable, "npm fetched msb %s where %s was asked for. Check npm's settings.", version, Pinned)
	}
	root := filepath.Dir(filepath.Dir(found[0]))
	extras, _ := filepath.Glob(filepath.Join(root, "*.node")) // for programs in JavaScript: the larger half of it
	for _, f := range extras {
		os.Remove(f) // it is only large
	}
	target := filepath.Join(b.state, "msb")
	if err := os.RemoveAll(target); err != nil {
		return noRecord(target, err)
	}
	if err := os.Rename(root, target); err != nil {
		return noRecord(target, err)
	}
	return nil
}
