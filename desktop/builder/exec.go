package builder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// command runs a command to its end, with both outputs in out. Its input is over at once, so that what asks for some fails
// and does not wait. A context that ends kills it.
func (m *making) command(ctx context.Context, box sandbox.ID, cmd sandbox.Command, in io.Reader, out io.Writer) (int, error) {
	starting, cancel := m.b.within(ctx, execLimit)
	p, err := m.b.o.Backend.Exec(starting, box, cmd)
	cancel()
	if err != nil {
		return -1, err
	}
	closed := sync.OnceFunc(func() { p.Close() })
	defer closed()
	stop := context.AfterFunc(ctx, closed)
	defer stop()
	var pumps sync.WaitGroup
	pumps.Go(func() {
		if in != nil {
			_, _ = io.Copy(p.Stdin(), in) // one that does not read it tells with its code
		}
		_ = p.Stdin().Close()
	})
	both := &joined{w: out}
	pumps.Go(func() { _, _ = io.Copy(both, p.Stdout()) }) // how it ended, Wait tells
	pumps.Go(func() { _, _ = io.Copy(both, p.Stderr()) })
	code, err := p.Wait(ctx)
	if err != nil {
		closed()
	}
	pumps.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return -1, cause
	}
	return code, err
}

// joined lets two streams write to one.
type joined struct {
	mu sync.Mutex
	w  io.Writer
}

func (j *joined) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.w.Write(p)
}

// askBytes bounds what a question to a Sandbox may answer.
const askBytes = 64 << 10

// ask is command for a short command: it returns what it printed.
func (m *making) ask(ctx context.Context, box sandbox.ID, cmd sandbox.Command) (string, int, error) {
	ctx, cancel := m.b.within(ctx, execLimit)
	defer cancel()
	var out bounded
	code, err := m.command(ctx, box, cmd, nil, &out)
	return strings.ToValidUTF8(out.String(), "�"), code, err
}

var errNoAnswer = claudehub.Errorf(claudehub.Unavailable, "The build's Sandbox did not answer in time. Build again; the Runner's machine may be busy.")

type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := askBytes - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// Where a script is in a build's Sandbox while it runs.
const (
	scriptDir  = "/tmp/claude-hub-build"
	scriptPath = scriptDir + "/setup.sh"
	trapPath   = scriptDir + "/trap.sh"
)

// trap is read by bash before the script: it tells which line failed. Functions and subshells inherit it.
const trap = `unset BASH_ENV
trap 'claude_hub_code=$?; printf "claude-hub: line %s: exit code %s: %s\n" "$LINENO" "$claude_hub_code" "${BASH_COMMAND%%$'"'"'\n'"'"'*}" >&2' ERR
`

// launcher runs the script with bash, where there is one. There is no terminal and no input.
const launcher = `
exec </dev/null 2>&1
if command -v bash >/dev/null 2>&1; then
  BASH_ENV=` + trapPath + ` exec bash -eE ` + scriptPath + ` "$@"
fi
exec sh -e ` + scriptPath + ` "$@"
`

// script runs a script as root in a build's Sandbox.
func (m *making) script(ctx context.Context, box sandbox.ID, text string, args, env []string, out io.Writer) (int, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n") // as browsers write lines
	for path, content := range map[string]string{scriptPath: text, trapPath: trap} {
		if err := m.place(ctx, box, path, content); err != nil {
			return -1, err
		}
	}
	env = append([]string{"DEBIAN_FRONTEND=noninteractive"}, env...)
	return m.command(ctx, box, sandbox.Command{
		Path: "sh", Args: append([]string{"-c", launcher, "setup"}, args...), Env: env, Dir: "/",
	}, nil, out)
}

// place writes a file in a Sandbox.
func (m *making) place(ctx context.Context, box sandbox.ID, path, content string) error {
	ctx, cancel := m.b.within(ctx, execLimit)
	defer cancel()
	var said bounded
	code, err := m.command(ctx, box, sandbox.Command{
		Path: "sh", Args: []string{"-c", `umask 077 && mkdir -p "$1" && cat >"$2"`, "place", scriptDir, path}, Dir: "/",
	}, strings.NewReader(content), &said)
	if err == nil && code != 0 {
		err = fmt.Errorf("write %s: code %d: %s", path, code, said.String())
	}
	return err
}

// watchEvery is how often a build's disk is looked at. A look at many files takes long, and makes the next come later.
const watchEvery = 2 * time.Second

// lowSpace is what a build leaves of the machine's disk.
const lowSpace = 512 << 20

// watched runs f, and ends it when the build takes more disk than it may.
func (m *making) watched(ctx context.Context, box sandbox.ID, f func(context.Context) (int, error)) (int, error) {
	ctx, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { m.watch(ctx, box, end) })
	code, err := f(ctx)
	cause := context.Cause(ctx)
	end(nil)
	watch.Wait()
	if errors.Is(cause, errDiskFull) || errors.Is(cause, errNoDisk) {
		return -1, cause
	}
	return code, err
}

func (m *making) watch(ctx context.Context, box sandbox.ID, end context.CancelCauseFunc) {
	pause := watchEvery
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		if free, err := freeBytes(m.b.o.Dir); err == nil && free < lowSpace {
			end(errNoDisk)
			return
		}
		s, err := m.b.o.Backend.Stats(ctx, box)
		if err == nil && m.j.Recipe.Disk > 0 && s.DiskBytes > m.j.Recipe.Disk {
			end(errDiskFull)
			return
		}
		timer.Reset(max(watchEvery, 10*time.Since(began)))
	}
}

// stop ends a Sandbox's processes.
func (m *making) stop(ctx context.Context, box sandbox.ID) error {
	ctx, cancel := m.b.within(context.WithoutCancel(ctx), clearLimit)
	defer cancel()
	return m.b.o.Backend.Stop(ctx, box, stopGrace)
}
