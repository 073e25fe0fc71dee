package runner

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// cloneSource fills /workspace once. It runs in the Sandbox, since a repository is a stranger's, and without any
// secret. A clone that was cut short is wiped and made again. What no clone of ours began is somebody's work and is left
// as it is, also when the Runner's memory was lost: a file beside the workspace tells one from the other.
func (s *session) cloneSource(ctx context.Context, src claudehub.Source) error {
	if s.facts().Cloned || src.GitURL == "" {
		return nil
	}
	begun, err := s.beginClone()
	if err != nil {
		return &stepError{step: stepClone, err: err, retry: true}
	}
	if !begun {
		return s.learn(ctx, func(l *Local) { l.Cloned = true })
	}
	return s.step(ctx, claudehub.PhasePreparing, stepClone, cloneLimit, func(ctx context.Context, progress func(string, float64)) error {
		if err := wipe(s.volume("workspace")); err != nil {
			return err
		}
		args := []string{"clone", "--progress"}
		if src.Branch != "" {
			args = append(args, "--branch", src.Branch)
		}
		args = append(args, "--", src.GitURL, guestWorkspace)
		p, err := s.on.cfg.Backend.Exec(ctx, s.box(), sandbox.Command{
			Path: "git", Args: args, Dir: "/", Env: []string{"GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new"},
		})
		if err != nil {
			return err
		}
		code, tail, err := follow(ctx, p, progress)
		switch {
		case err != nil:
			return errors.Join(err, wipe(s.volume("workspace")))
		case code != 0:
			return errors.Join(cloneError(src, tail), wipe(s.volume("workspace")))
		}
		if err := s.learn(ctx, func(l *Local) { l.Cloned = true }); err != nil {
			return err
		}
		return os.Remove(s.cloning())
	})
}

// cloning is the file that is there from a clone's beginning to its good end. It lies where the Sandbox cannot reach.
func (s *session) cloning() string { return filepath.Join(s.dir, "cloning") }

// beginClone marks that what /workspace holds from now on is a clone's. It answers false when something is there that is
// not.
func (s *session) beginClone() (bool, error) {
	if _, err := os.Lstat(s.cloning()); err == nil {
		return true, nil
	}
	entries, err := os.ReadDir(s.volume("workspace"))
	if err != nil || len(entries) > 0 {
		return false, err
	}
	f, err := os.OpenFile(s.cloning(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	return true, errors.Join(f.Sync(), f.Close())
}

// wipe removes what is in a directory and not the directory, which may be mounted. It removes symbolic links without
// following them.
func wipe(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

var gitPercent = regexp.MustCompile(`^(remote: )?([A-Z][a-z ]+): +(\d+)% `)

// maxTail is how much of a program's last words is kept.
const maxTail = 4 << 10

// follow reads a git process to its end, turning its percentages into progress. It returns its exit code and last words.
func follow(ctx context.Context, p sandbox.Process, progress func(string, float64)) (int, string, error) {
	defer func() { _ = p.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	_ = p.Stdin().Close()
	go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }() // ends with the process
	var tail []byte
	lines := bufio.NewScanner(p.Stderr())
	lines.Split(splitLines)
	shown := ""
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if m := gitPercent.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[3]) // the pattern has digits only
			// One report per tenth: each is written to disk and sent.
			if step := m[2] + m[3][:len(m[3])-1]; step != shown {
				shown = step
				progress(m[2], float64(n)/100)
			}
			continue
		}
		tail = append(append(tail, line...), '\n')
		if len(tail) > maxTail {
			tail = tail[len(tail)-maxTail:]
		}
	}
	code, err := p.Wait(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return code, string(tail), err
}

// splitLines ends a line at \n and at \r: git draws its progress over itself. A line of more than 4 KiB is cut.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if len(data) > maxTail || atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// cloneError says in a sentence what git said in many.
func cloneError(src claudehub.Source, said string) error {
	e := &stepError{step: stepClone, detail: said, retry: true, fix: "Check the URL, and that this machine may read the repository, then retry."}
	switch {
	case strings.Contains(said, "Remote branch") && strings.Contains(said, "not found"):
		e.err = claudehub.Errorf(claudehub.Invalid, "The repository has no branch called %q.", src.Branch)
		e.fix = "Start a new Session with a branch that exists, or push this one and retry."
	case strings.Contains(said, "No space left"):
		e.err = claudehub.Errorf(claudehub.Unavailable, "The disk filled up while cloning.")
		e.fix = diskFullWords
	case strings.Contains(said, "Could not resolve host"):
		e.err = claudehub.Errorf(claudehub.Unavailable, "The host of %s cannot be found from this machine.", src.GitURL)
	case strings.Contains(said, "could not read Username"), strings.Contains(said, "Authentication failed"), strings.Contains(said, "Permission denied"):
		e.err = claudehub.Errorf(claudehub.Forbidden, "%s asks for a login that the Sandbox does not have.", src.GitURL)
	case strings.Contains(said, "not found"), strings.Contains(said, "does not exist"), strings.Contains(said, "not appear to be a git repository"),
		strings.Contains(said, "repository not exported"):
		e.err = claudehub.Errorf(claudehub.NotFound, "There is no git repository at %s, or none that this machine may see.", src.GitURL)
	case strings.Contains(said, "Connection refused"), strings.Contains(said, "Failed to connect"), strings.Contains(said, "timed out"):
		e.err = claudehub.Errorf(claudehub.Unavailable, "%s cannot be reached from this machine.", src.GitURL)
	default:
		e.err = claudehub.WithCause(claudehub.Unavailable, fmt.Errorf("git: %s", strings.TrimSpace(said)), "git could not clone %s.", src.GitURL)
	}
	return e
}
