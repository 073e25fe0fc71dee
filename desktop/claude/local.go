package claude

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/internal/claudehub"
)

var versionLine = regexp.MustCompile(`^(\d+\.\d+\.\d+\S*) \(Claude Code\)`)

// local checks the program that the owner named. Its version is its own affair: we say which it is and do not choose.
func (s *Store) local(ctx context.Context, p Platform) (Program, error) {
	path, err := filepath.EvalSymlinks(s.o.Local) // it is mounted alone, so where it really lies is what counts
	if err != nil {
		return Program{}, claudehub.WithCause(claudehub.Invalid, err, "There is no Claude Code at %s. Correct the path, or leave it out to have Claude Code fetched.", s.o.Local)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Program{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Program{}, claudehub.WithCause(claudehub.Invalid, err, "Claude Code at %s cannot be read.", path)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return Program{}, claudehub.Errorf(claudehub.Invalid, "%s is not a program. Name the claude file itself, and make it executable.", path)
	}
	home, err := os.MkdirTemp("", "claude-version-")
	if err != nil {
		return Program{}, err
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := process.Run(ctx, process.Command{
		Path: path, Args: []string{"--version"}, Dir: home,
		Env: []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "DISABLE_AUTOUPDATER=1", "PATH=/usr/bin:/bin"},
	})
	if err != nil {
		return Program{}, claudehub.WithCause(claudehub.Invalid, err, "%s could not be started. Is it a Claude Code for this machine?", path)
	}
	m := versionLine.FindSubmatch(r.Stdout)
	if r.Code != 0 || m == nil {
		return Program{}, claudehub.Errorf(claudehub.Invalid, "%s does not answer to --version as Claude Code does. Name the claude program itself.", path)
	}
	return Program{Version: string(m[1]), Platform: p, Path: path}, nil
}
