package tmux

import (
	"fmt"
	"strconv"
	"strings"
)

// Snapshot questions, in the order in which they are asked. They go out as one command line, which tmux answers without
// reading pane output in between, so that all of them tell the same moment.
const (
	askState = iota
	askPending
	askScreen
	askJoined
	askSaved
	snapshotQuestions
)

// stateFields are the formats of askState, a line each; the title is last.
var stateFields = []string{
	"pane_width", "pane_height", "cursor_x", "cursor_y", "history_size",
	"scroll_region_upper", "scroll_region_lower",
	"alternate_on", "alternate_saved_x", "alternate_saved_y",
	"cursor_flag", "insert_flag", "keypad_cursor_flag", "keypad_flag", "origin_flag", "wrap_flag",
	"mouse_standard_flag", "mouse_button_flag", "mouse_all_flag", "mouse_sgr_flag", "mouse_utf8_flag",
	"pane_dead", "pane_tabs", "pane_title",
}

// snapshotCommands asks for the pane and up to history lines above it.
func snapshotCommands(history int) []Command {
	format := "#{" + strings.Join(stateFields, "}\n#{") + "}"
	top := "-" + strconv.Itoa(history)
	if history <= 0 {
		top = "0"
	}
	return []Command{
		Cmd("display-message", "-p", "-t", target, format),
		// What has been read of an unfinished escape sequence, escaped as in %output.
		Cmd("capture-pane", "-p", "-P", "-C", "-t", target),
		Cmd("capture-pane", "-p", "-e", "-N", "-S", top, "-t", target),
		// Without -e, which costs tmux eight times as much.
		Cmd("capture-pane", "-p", "-J", "-S", top, "-t", target),
		Cmd("capture-pane", "-p", "-e", "-N", "-a", "-q", "-t", target),
	}
}

// paneState is askState's answer.
type paneState struct {
	cols, rows, x, y, history int
	regionTop, regionBottom   int
	alternate, dead           bool
	savedX, savedY            int
	flags                     map[string]bool
	tabs                      string
	title                     string
}

func parseState(lines [][]byte) (paneState, error) {
	var s paneState
	if len(lines) < len(stateFields) {
		return s, fmt.Errorf("%w: a pane's state has %d lines", ErrProtocol, len(lines))
	}
	value := map[string]string{}
	for i, name := range stateFields {
		value[name] = string(lines[i])
	}
	var bad error
	num := func(name string) int {
		n, err := strconv.Atoi(value[name])
		if err != nil || n < 0 {
			bad = fmt.Errorf("%w: a pane's %s is %.20q", ErrProtocol, name, value[name])
		}
		return n
	}
	s = paneState{
		cols: num("pane_width"), rows: num("pane_height"), x: num("cursor_x"), y: num("cursor_y"), history: num("history_size"),
		regionTop: num("scroll_region_upper"), regionBottom: num("scroll_region_lower"),
		alternate: value["alternate_on"] == "1", dead: value["pane_dead"] == "1", tabs: value["pane_tabs"], title: value["pane_title"],
		flags: map[string]bool{},
	}
	for name, v := range value {
		if strings.HasSuffix(name, "_flag") {
			s.flags[name] = v == "1"
		}
	}
	if s.alternate {
		// Without a saved cursor (modes 47 and 1047) tmux says the largest number.
		s.savedX, s.savedY = num("alternate_saved_x"), num("alternate_saved_y")
	}
	if bad == nil && (s.cols < 1 || s.rows < 1 || s.cols > maxSize || s.rows > maxSize || s.y >= s.rows) {
		bad = fmt.Errorf("%w: a pane of %dx%d with its cursor in row %d", ErrProtocol, s.cols, s.rows, s.y)
	}
	return s, bad
}

// renderSnapshot turns the answers into bytes for a viewer of the pane's size, and the number of history lines in them.
func renderSnapshot(r Reply, history int, t *tracker) ([]byte, paneState, error) {
	if len(r.Blocks) != snapshotQuestions {
		return nil, paneState{}, fmt.Errorf("%w: a snapshot of %d parts", ErrProtocol, len(r.Blocks))
	}
	s, err := parseState(r.Blocks[askState].Lines)
	if err != nil {
		return nil, s, err
	}
	lines := r.Blocks[askScreen].Lines
	above := min(max(history, 0), s.history)
	if len(lines) != above+s.rows {
		return nil, s, fmt.Errorf("%w: a screen of %d lines, not %d", ErrProtocol, len(lines), above+s.rows)
	}
	rows := parseRows(lines, r.Blocks[askJoined].Lines)
	// End any sequence and the alternate screen, reset, clear scrollback. No wrapping: a character that the viewer takes
	// for wider than tmux does must not push the rest down.
	out := append(make([]byte, 0, 4096), "\x18\x1b[?1049l\x1bc\x1b[3J\x1b)0\x1b[?7l"...)
	if s.alternate {
		saved := parseRows(r.Blocks[askSaved].Lines, nil)
		out = appendLines(out, append(rows[:above:above], saved...), s.cols)
		out = appendAlternate(out, s)
		out = appendLines(out, rows[above:], s.cols)
	} else {
		out = appendLines(out, rows, s.cols)
	}
	out = appendState(out, s, rows[len(rows)-s.rows+s.y], t)
	if len(r.Blocks[askPending].Lines) > 0 {
		out = appendUnescaped(out, r.Blocks[askPending].Lines[0])
	}
	return append(out, t.tail...), s, nil
}

func appendAlternate(out []byte, s paneState) []byte {
	if s.savedX >= s.cols && s.savedX > maxSize {
		return append(out, "\x1b[?1047h\x1b[H"...)
	}
	out = appendMove(out, s.savedX, s.savedY)
	return append(out, "\x1b[?1049h\x1b[H"...)
}

// appendState writes all that is not cells. The cursor's row is written again when the cursor waits to wrap at its end.
func appendState(out []byte, s paneState, current row, t *tracker) []byte {
	if title := printable(s.title); title != "" {
		out = append(append(append(out, "\x1b]2;"...), title...), "\x1b\\"...)
	}
	out = appendTabs(out, s)
	if s.regionTop != 0 || s.regionBottom != s.rows-1 {
		out = fmt.Appendf(out, "\x1b[%d;%dr", s.regionTop+1, s.regionBottom+1)
	}
	y := s.y
	if s.flags["origin_flag"] {
		out = appendMode(out, 6, true)
		y = max(0, y-s.regionTop)
	}
	for _, m := range []struct {
		mode int
		flag string
	}{
		{1, "keypad_cursor_flag"}, {1000, "mouse_standard_flag"}, {1002, "mouse_button_flag"}, {1003, "mouse_all_flag"},
		{1005, "mouse_utf8_flag"}, {1006, "mouse_sgr_flag"},
	} {
		if s.flags[m.flag] {
			out = appendMode(out, m.mode, true)
		}
	}
	if s.flags["keypad_flag"] {
		out = append(out, "\x1b="...)
	}
	out = t.appendModes(out)
	if !s.flags["cursor_flag"] {
		out = appendMode(out, 25, false)
	}
	if s.x >= s.cols {
		out = appendMode(out, 7, true)
		out = appendMove(out, 0, y)
		out = append(out, current.text...)
		if n := textWidth(current.text); n < s.cols {
			// The row was cut after it was filled; only blanks are missing.
			out = append(out, "\x1b[m"...)
			out = append(out, strings.Repeat(" ", s.cols-n)...)
		}
		out = append(out, "\x1b[m"...)
	} else {
		out = appendMove(out, s.x, y)
	}
	out = appendMode(out, 7, s.flags["wrap_flag"])
	if s.flags["insert_flag"] {
		out = append(out, "\x1b[4h"...)
	}
	out = append(out, "\x1b)B"...)
	return t.appendPen(out)
}

// appendTabs sets tab stops that are not the default ones.
func appendTabs(out []byte, s paneState) []byte {
	var usual []string
	for i := 8; i < s.cols; i += 8 {
		usual = append(usual, strconv.Itoa(i))
	}
	if s.tabs == strings.Join(usual, ",") {
		return out
	}
	out = append(out, "\x1b[3g"...)
	for tab := range strings.SplitSeq(s.tabs, ",") {
		if n, err := strconv.Atoi(tab); err == nil && n >= 0 && n < s.cols {
			out = fmt.Appendf(out, "\x1b[%dG\x1bH", n+1)
		}
	}
	return out
}

func appendMove(out []byte, x, y int) []byte {
	return fmt.Appendf(out, "\x1b[%d;%dH", y+1, x+1)
}

// printable drops control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
