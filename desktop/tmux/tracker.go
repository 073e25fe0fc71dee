package tmux

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// tracker follows a pane's output for what tmux knows and does not tell: the pen, the character sets, modes without a
// format, and the start of a character whose end has not come. It is exact while it sees all output; after a gap it
// starts over with the pen of a reset terminal.
type tracker struct {
	state     trackState
	params    []byte // of the control sequence under way, bounded
	overlong  bool
	tail      []byte // the last bytes, when they begin a character
	pen       pen
	charsets  charsets
	saved     cursorState // by DECSC
	alternate struct {
		on  bool
		pen pen
	}
	modes  map[int]bool // private modes of trackedModes that were set or reset
	cursor int          // DECSCUSR; -1 unknown
}

type charsets struct {
	lines   [2]bool // G0 and G1 hold the line drawing set
	shifted bool    // SO: G1 is in use
}

type cursorState struct {
	pen      pen
	charsets charsets
}

type trackState uint8

const (
	ground trackState = iota
	escape
	escapeG0
	escapeG1
	escapeOther
	control
	text // OSC, DCS, APC, PM, SOS: up to its terminator
	textEscape
)

// trackedModes are private modes that tmux 3.3a has no format for and a viewer must know.
var trackedModes = [...]int{12, 1004, 2004}

func newTracker() *tracker { return &tracker{modes: map[int]bool{}, cursor: -1} }

// lose says that output was left out. Modes are kept: the best that is known.
func (t *tracker) lose() {
	modes, cursor, alternate := t.modes, t.cursor, t.alternate.on
	*t = tracker{modes: modes, cursor: cursor, params: t.params[:0]}
	t.alternate.on = alternate
}

// feed takes output.
func (t *tracker) feed(data []byte) {
	for len(data) > 0 {
		if t.state != ground {
			t.step(data[0])
			data = data[1:]
			continue
		}
		// Nearly all bytes are text: look for the few that are not.
		run := data
		if i := bytes.IndexByte(data, 0x1b); i >= 0 {
			run = data[:i]
		}
		t.shifts(run)
		t.keepTail(run)
		data = data[len(run):]
		if len(data) > 0 {
			t.state, t.tail, data = escape, t.tail[:0], data[1:]
		}
	}
}

func (t *tracker) shifts(run []byte) {
	so, si := bytes.LastIndexByte(run, 0x0e), bytes.LastIndexByte(run, 0x0f)
	if so != si {
		t.charsets.shifted = so > si
	}
}

// keepTail keeps the beginning of a character at the end of what was seen.
func (t *tracker) keepTail(run []byte) {
	if len(run) == 0 {
		return
	}
	if len(run) < utf8.UTFMax {
		run = append(t.tail, run...)
	}
	for back := 1; back < utf8.UTFMax && back <= len(run); back++ {
		c := run[len(run)-back]
		if utf8.RuneStart(c) {
			last := run[len(run)-back:]
			if c >= utf8.RuneSelf && !utf8.FullRune(last) {
				t.tail = append(t.tail[:0], last...)
				return
			}
			break
		}
	}
	t.tail = t.tail[:0]
}

func (t *tracker) step(c byte) {
	const can, sub = 0x18, 0x1a
	switch {
	case c == can || c == sub:
		t.state = ground
		return
	case c == 0x1b && t.state != text && t.state != textEscape:
		t.state = escape
		return
	}
	switch t.state {
	case escape:
		t.escape(c)
	case escapeG0, escapeG1:
		t.charsets.lines[t.state-escapeG0] = c == '0'
		t.state = ground
	case escapeOther:
		if c >= 0x30 {
			t.state = ground
		}
	case control:
		t.control(c)
	case text:
		switch c {
		case 0x1b:
			t.state = textEscape
		case 0x07:
			t.state = ground
		}
	case textEscape:
		// ESC \ ends it; ESC and another byte is, to tmux, a new sequence.
		if t.state = ground; c != '\\' {
			t.escape(c)
		}
	}
}

func (t *tracker) escape(c byte) {
	t.state = ground
	switch c {
	case '[':
		t.state, t.params, t.overlong = control, t.params[:0], false
	case ']', 'P', '_', '^', 'X', 'k':
		t.state = text
	case '(':
		t.state = escapeG0
	case ')':
		t.state = escapeG1
	case '7':
		t.saved = cursorState{t.pen, t.charsets}
	case '8':
		t.pen, t.charsets = t.saved.pen, t.saved.charsets
	case 'c':
		t.pen, t.charsets, t.saved = pen{}, charsets{}, cursorState{}
		t.cursor = -1
		clear(t.modes)
	default:
		if c < 0x20 { // a control character inside: carried out, and the sequence goes on
			t.state = escape
		} else if c < 0x30 {
			t.state = escapeOther
		}
	}
}

// control takes a byte of a control sequence (CSI).
func (t *tracker) control(c byte) {
	const most = 64
	switch {
	case c < 0x20 || c == 0x7f:
		return
	case c < 0x40:
		if len(t.params) < most {
			t.params = append(t.params, c)
		} else {
			t.overlong = true
		}
		return
	}
	t.state = ground
	if t.overlong || c >= 0x80 {
		return
	}
	p := t.params
	switch {
	case c == 'm' && (len(p) == 0 || p[0] < '<'):
		t.pen.apply(p)
	case (c == 'h' || c == 'l') && len(p) > 1 && p[0] == '?':
		for m := range bytes.SplitSeq(p[1:], []byte(";")) {
			t.mode(number(m, -1), c == 'h')
		}
	case c == 'q' && len(p) > 0 && p[len(p)-1] == ' ':
		t.cursor = number(p[:len(p)-1], 0)
	case c == 's' && len(p) == 0:
		t.saved = cursorState{t.pen, t.charsets}
	case c == 'u' && len(p) == 0:
		t.pen, t.charsets = t.saved.pen, t.saved.charsets
	}
}

func (t *tracker) mode(n int, on bool) {
	switch n {
	case 47, 1047, 1049:
		if on && !t.alternate.on {
			t.alternate.pen = t.pen
		}
		if !on && n == 1049 {
			t.pen = t.alternate.pen
		}
		t.alternate.on = on
		return
	}
	for _, tracked := range trackedModes {
		if n == tracked {
			t.modes[n] = on
		}
	}
}

// appendModes writes the modes that tmux has no format for.
func (t *tracker) appendModes(dst []byte) []byte {
	for _, n := range trackedModes {
		if on, known := t.modes[n]; known {
			dst = appendMode(dst, n, on)
		}
	}
	if t.cursor > 0 {
		dst = append(dst, "\x1b["...)
		dst = strconv.AppendInt(dst, int64(t.cursor), 10)
		dst = append(dst, " q"...)
	}
	return dst
}

// appendPen writes pen and character sets, for a terminal that was just reset.
func (t *tracker) appendPen(dst []byte) []byte {
	if t.charsets.lines[0] {
		dst = append(dst, "\x1b(0"...)
	}
	if t.charsets.lines[1] {
		dst = append(dst, "\x1b)0"...)
	}
	if t.charsets.shifted {
		dst = append(dst, 0x0e)
	}
	return t.pen.appendTo(dst)
}

func appendMode(dst []byte, n int, on bool) []byte {
	dst = append(dst, "\x1b[?"...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	if on {
		return append(dst, 'h')
	}
	return append(dst, 'l')
}
