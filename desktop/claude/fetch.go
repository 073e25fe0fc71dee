package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/internal/claudehub"
)

// fetch brings a program here. Everything happens in a folder beside the place, which is renamed at the end: what is
// at the place is whole, whenever this was cut off.
func (s *Store) fetch(ctx context.Context, p Platform, tell func(Progress)) (Program, error) {
	program, err := s.fetchLocked(ctx, p, tell)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return program, storeError(err, s.o.Dir)
}

func (s *Store) fetchLocked(ctx context.Context, p Platform, tell func(Progress)) (Program, error) {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return Program{}, err
	}
	unlock, err := lockDir(ctx, s.o.Dir)
	if err != nil {
		return Program{}, err
	}
	defer unlock()
	if program, err := s.kept(p); err == nil {
		return program, nil // another process was quicker
	}
	removeLeftovers(s.o.Dir)
	work, err := os.MkdirTemp(s.o.Dir, leftover)
	if err != nil {
		return Program{}, err
	}
	defer os.RemoveAll(work) // what stays is removed by the next fetch
	tarball, err := s.download(ctx, p, work, tell)
	if err != nil {
		return Program{}, err
	}
	return s.install(ctx, p, tarball, work, tell)
}

// leftover begins the names of folders that a fetch works in.
const leftover = ".fetch-"

// removeLeftovers frees what a killed fetch left. The caller holds the lock, so nobody is using it.
func removeLeftovers(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, leftover+"*")) // the pattern is fixed: no error is possible
	for _, f := range found {
		inner, _ := filepath.Glob(filepath.Join(f, "*"))
		for _, i := range inner {
			_ = os.Chmod(i, 0o700)
		}
		_ = os.RemoveAll(f) // at worst it stays and takes room
	}
}

// lockDir waits for the lock that lets one process at a time fetch into a folder. A process that dies gives it back.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// download asks the npm client, which knows the registry, the proxy and the credentials of this machine.
func (s *Store) download(ctx context.Context, p Platform, work string, tell func(Progress)) (string, error) {
	npm := s.o.NPM
	if npm == "" {
		found, err := process.Look("npm", os.Getenv("PATH"))
		if err != nil {
			return "", claudehub.WithCause(claudehub.Unavailable, err, "Claude Code %s has to be fetched, and npm, which does it, is not on this machine. "+
				"Install Node.js, which brings npm (on Debian and Ubuntu: apt-get install npm), or tell the Runner the path of a claude program that you have.", s.o.Release.Version)
		}
		npm = found
	}
	tell(Progress{Step: "Downloading Claude Code " + s.o.Release.Version, Done: -1})
	name := fmt.Sprintf("@anthropic-ai/claude-code-%s@%s", p, s.o.Release.Version)
	r, err := process.Run(ctx, process.Command{
		Path: npm,
		// The checksum is pinned here, so what npm has in its cache is as good as a new download.
		Args: []string{"pack", name, "--pack-destination", work, "--prefer-offline", "--ignore-scripts", "--no-update-notifier", "--loglevel=error"},
		Dir:  work,
	})
	if err != nil {
		return "", fmt.Errorf("run npm: %w", err)
	}
	if r.Code != 0 {
		return "", claudehub.WithCause(claudehub.Unavailable, fmt.Errorf("npm ended with %d: %s", r.Code, lastLines(r.Stderr)),
			"npm could not download Claude Code %s for %s. Check the network and npm's settings (try: npm view %s version), then try again.", s.o.Release.Version, p, name)
	}
	found, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", claudehub.WithCause(claudehub.Unavailable, fmt.Errorf("npm left %d packages", len(found)), "npm said that it downloaded Claude Code, and left no package. Try again, or update npm.")
	}
	return found[0], nil
}

// lastLines keeps the end of a program's complaint, where the reason is.
func lastLines(b []byte) string {
	const keep = 2000
	if len(b) > keep {
		b = b[len(b)-keep:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}
