package tmux

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
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
