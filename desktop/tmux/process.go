package tmux

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"claude-hub/internal/claudehub"
)

// Dead tells whether the pane's program has ended, and its exit code; -1 for one that a signal ended.
func (t *Terminal) Dead(ctx context.Context) (dead bool, code int, err error) {
	r, err := t.do(ctx, Cmd("display-message", "-p", "-t", target, "#{pane_dead} #{pane_dead_status}"))
	if err != nil {
		return false, 0, err
	}
	flag, status, _ := strings.Cut(firstLine(r.Blocks[0]), " ")
	switch flag {
	case "0":
		return false, 0, nil
	case "1":
		if code, err = strconv.Atoi(status); err != nil {
			code = -1
		}
		return true, code, nil
	}
	return false, 0, person(fmt.Errorf("%w: a pane that is neither dead nor alive", ErrProtocol))
}

// Text is the visible screen as plain text, lines separated by line feeds, blanks at their ends cut.
func (t *Terminal) Text(ctx context.Context) (string, error) {
	r, err := t.do(ctx, Cmd("capture-pane", "-p", "-t", target))
	if err != nil {
		return "", err
	}
	return string(bytes.Join(r.Blocks[0].Lines, []byte("\n"))), nil
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// SetEnvironment sets a variable for the programs that Respawn starts from now on. The value goes through the transport,
// never through an argument of a process, and is in no error.
func (t *Terminal) SetEnvironment(ctx context.Context, name, value string) error {
	if !validName.MatchString(name) || strings.ContainsRune(value, 0) {
		return claudehub.Errorf(claudehub.Invalid, "A Variable's name is letters, digits and '_', and its value has no NUL byte.")
	}
	_, err := t.do(ctx, Cmd("set-environment", "-t", "="+SessionName, "--", name, value))
	return err
}

// Respawn ends what runs in the pane and starts argv, without a shell, on an empty screen of the same size. argv is seen by
// all in the Sandbox: no secret belongs there.
//
// It makes a new pane and kills the old one: respawn-pane of tmux 3.3a keeps the old pane's read offsets for a new, empty
// buffer, which is a read out of bounds in the server when a control client was behind.
func (t *Terminal) Respawn(ctx context.Context, argv []string) error {
	if len(argv) == 0 || argv[0] == "" || strings.Contains(argv[0], "=") {
		return claudehub.Errorf(claudehub.Invalid, "There is no program to start.")
	}
	if err := t.waitReady(ctx); err != nil {
		return person(err)
	}
	r, err := t.client.Do(ctx, Cmd("display-message", "-p", "-t", target, "#{window_id} #{window_width}x#{window_height}"))
	if err != nil {
		return person(err)
	}
	window, size, _ := strings.Cut(firstLine(r.Blocks[0]), " ")
	call, err := t.client.start(ctx, t.respawned,
		Cmd("set-option", "-t", target, "default-size", size),
		append(Cmd("new-window", "-P", "-F", "#{pane_id}", "-n", windowName, "-t", target, "--"), paneArgv(argv)...),
		keepSize(target), // new-window made the new one current
		Cmd("kill-window", "-t", window))
	if err != nil {
		return person(err)
	}
	_, err = call.Wait(ctx)
	return person(err)
}

// respawned turns to the new pane, on the reader's goroutine, before its first output is handled.
func (t *Terminal) respawned(r Reply, err error) {
	if err != nil || len(r.Blocks) < 2 {
		return
	}
	pane := firstLine(r.Blocks[1])
	t.pane.Store(&pane)
	t.screen.gap()
	t.screen.tracker, t.screen.dead = newTracker(), false
	t.ask(func(p *plan) {
		p.pause, p.paused = false, false
		p.hook = true
		p.want(t.options.History)
	})
}
