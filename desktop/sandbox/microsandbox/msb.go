package microsandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/internal/claudehub"
)

// Pinned is the version of msb that this package was proven with. No other is used.
const Pinned = "0.6.18"

// tool is an msb program that was asked for its version, as it lay on the disk then.
type tool struct {
	path    string
	size    int64
	changed time.Time
}

// find looks for the program: where Options say, where Install puts it, on PATH.
func (b *Backend) find() (string, error) {
	if b.program != "" {
		return b.program, nil
	}
	if own := b.installed(); isProgram(own) {
		return own, nil
	}
	if path, err := exec.LookPath("msb"); err == nil {
		return filepath.Abs(path)
	}
	return "", claudehub.Errorf(claudehub.Unavailable,
		"The program msb of microsandbox is not on this machine. Run \"claude-hub-runner doctor --install\", or put version %s on the PATH.", Pinned)
}

func (b *Backend) installed() string { return filepath.Join(b.state, "msb", "bin", "msb") }

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// tool finds the program and makes sure of its version, anew whenever its file has changed: it may be upgraded beneath us.
func (b *Backend) tool(ctx context.Context) (string, error) {
	path, err := b.find()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", claudehub.WithCause(claudehub.Unavailable, err, "The program %s cannot be used. Run \"claude-hub-runner doctor --install\".", path)
	}
	now := tool{path, info.Size(), info.ModTime()}
	b.toolMu.Lock()
	good := b.known == now
	b.toolMu.Unlock()
	if good {
		return path, nil
	}
	version, err := b.version(ctx, path)
	if err != nil {
		return "", err
	}
	if version != Pinned {
		return "", claudehub.Errorf(claudehub.Unavailable,
			"%s is version %s of microsandbox, and this Runner works with %s. Run \"claude-hub-runner doctor --install\"; yours stays as it is.", path, version, Pinned)
	}
	b.toolMu.Lock()
	b.known = now
	b.toolMu.Unlock()
	return path, nil
}

// version asks a program what it is.
func (b *Backend) version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.times(callTimeout))
	defer cancel()
	r, err := process.Run(ctx, process.Command{Path: path, Args: []string{"--version"}, Env: b.environment(b.tmp()), Dir: "/"})
	words := strings.Fields(string(r.Stdout))
	if err != nil || r.Code != 0 || len(words) < 2 || words[0] != "msb" {
		return "", claudehub.WithCause(claudehub.Unavailable, errors.Join(err, errors.New(tail(r.Stderr))),
			"The program %s does not run here. Run \"claude-hub-runner doctor --install\".", path)
	}
	return words[1], nil
}

func (b *Backend) tmp() string { return filepath.Join(b.state, "tmp") }

// environment is what msb and its VMs get. Ours holds secrets, and everyone of this user can read a VM's.
func (b *Backend) environment(tmp string) []string {
	env := []string{"MSB_HOME=" + b.home(), "TMPDIR=" + tmp, "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "HOME="+home)
	}
	return env
}

// call is one use of msb.
type call struct {
	args    []string
	tmp     string        // "" is the common one
	timeout time.Duration // before patience; zero is callTimeout
	input   func(*process.Process) error
}

// failure is msb that said no.
type failure struct {
	verb   string
	code   int
	stderr string
}

func (f *failure) Error() string {
	return fmt.Sprintf("msb %s ended with code %d: %s", f.verb, f.code, f.stderr)
}

// says tells whether msb's words hold this.
func (f *failure) says(text string) bool { return strings.Contains(strings.ToLower(f.stderr), text) }

// busyPause lies between two tries when msb's database was busy.
const busyPause = 300 * time.Millisecond

// msb runs the program. Its database may be locked for a moment by another call: that is waited for, within the deadline.
func (b *Backend) msb(ctx context.Context, c call) ([]byte, error) {
	path, err := b.tool(ctx)
	if err != nil {
		return nil, err
	}
	if c.timeout == 0 {
		c.timeout = callTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, b.times(c.timeout))
	defer cancel()
	for {
		out, err := b.once(bounded, path, c)
		var f *failure
		switch {
		case err == nil:
			return out, nil
		case bounded.Err() != nil && ctx.Err() == nil:
			return nil, claudehub.WithCause(claudehub.Unavailable, err,
				"msb did not finish \"%s\" in %v. Try again; if that does not help, look at what the machine is busy with.", c.args[0], b.times(c.timeout))
		case !errors.As(err, &f) || !f.says("database is locked") || c.input != nil:
			return nil, err
		}
		select {
		case <-bounded.Done():
			return nil, claudehub.WithCause(claudehub.Unavailable, err,
				"Another msb holds microsandbox's database (%s) and does not let go of it. End that program, and try again.", filepath.Join(b.home(), "db", "msb.db"))
		case <-time.After(busyPause):
		}
	}
}

func (b *Backend) once(ctx context.Context, path string, c call) ([]byte, error) {
	tmp := c.tmp
	if tmp == "" {
		tmp = b.tmp()
	}
	command := process.Command{Path: path, Args: c.args, Env: b.environment(tmp), Dir: "/", Limit: 4 << 20}
	if c.input == nil {
		r, err := process.Run(ctx, command)
		if err == nil && r.Code != 0 {
			err = &failure{c.args[0], r.Code, tail(r.Stderr)}
		}
		return r.Stdout, err
	}
	p, err := process.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return feed(ctx, p, c)
}

// tail is the end of what a program complained of, as text that can be shown.
func tail(raw []byte) string {
	const most = 2 << 10
	raw = bytes.TrimSpace(raw)
	if len(raw) > most {
		raw = raw[len(raw)-most:]
	}
	text := strings.ToValidUTF8(string(raw), "?")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, text)
}
