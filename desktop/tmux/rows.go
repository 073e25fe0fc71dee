package tmux

import (
	"bytes"
	"unicode/utf8"
)

// row is a line of a capture: text with control sequences that begin at a default pen, and the pen at its end.
type row struct {
	text    []byte
	end     pen
	wrapped bool // the next row goes on where this one ends
}

// parseRows makes rows self-contained: capture-pane -e writes changes only, across lines. joined is the text of the
// same lines, wrapped ones joined.
func parseRows(lines, joined [][]byte) []row {
	rows := make([]row, len(lines))
	markWrapped(rows, lines, joined)
	var c capture
	for i, line := range lines {
		rows[i].text, rows[i].end = c.appendRow(make([]byte, 0, len(line)+16), line)
	}
	return rows
}

// capture reads captured lines: what tmux said last, which holds for the lines after too.
type capture struct {
	pen     pen
	shifted bool // line drawing characters
}

// appendRow copies a captured line, writing its pens anew, since tmux 3.3a writes some in a way of its own.
func (c *capture) appendRow(dst, line []byte) ([]byte, pen) {
	var drawn pen
	shifted := false
	for len(line) > 0 {
		b := line[0]
		if b == 0x1b && len(line) > 1 && line[1] == '[' {
			end := bytes.IndexByte(line, 'm')
			if end < 0 {
				break
			}
			c.pen.apply(line[2:end])
			line = line[end+1:]
			continue
		}
		line = line[1:]
		if b == 0x0e || b == 0x0f {
			c.shifted = b == 0x0e
		}
		if b < ' ' || b == 0x7f {
			continue
		}
		if drawn != c.pen {
			if drawn != (pen{}) {
				dst = append(dst, "\x1b[m"...)
			}
			dst, drawn = c.pen.appendTo(dst), c.pen
		}
		if shifted != c.shifted {
			dst, shifted = appendShift(dst, c.shifted), c.shifted
		}
		dst = append(dst, b)
	}
	if shifted {
		dst = appendShift(dst, false)
	}
	return dst, drawn
}

func appendShift(dst []byte, on bool) []byte {
	if on {
		return append(dst, 0x0e)
	}
	return append(dst, 0x0f)
}

// markWrapped finds the rows that tmux wrapped by comparing the two captures: a joined line is the text of its rows put
// together.
func markWrapped(rows []row, lines, joined [][]byte) {
	i := 0
	var text []byte
	for _, rest := range joined {
		for first := true; i < len(rows) && (first || len(rest) > 0); first = false {
			text = appendText(text[:0], lines[i])
			if !bytes.HasPrefix(rest, text) {
				return // not as expected: leave the others unwrapped
			}
			rest = rest[len(text):]
			rows[i].wrapped = len(rest) > 0
			i++
		}
	}
}

// appendText copies the text of a captured line.
func appendText(dst, line []byte) []byte {
	for len(line) > 0 {
		i := bytes.IndexAny(line, "\x1b\x0e\x0f")
		if i < 0 {
			return append(dst, line...)
		}
		dst = append(dst, line[:i]...)
		end := i
		if line[i] == 0x1b {
			end = i + max(0, bytes.IndexByte(line[i:], 'm'))
		}
		line = line[end+1:]
	}
	return dst
}

// appendLines writes rows one below the other from the top left; those that do not fit scroll up.
func appendLines(out []byte, rows []row, cols int) []byte {
	wrapping := false
	for i, r := range rows {
		// Only a row that surely fills the line can flow into the next by itself.
		flows := i+1 < len(rows) && flowed(r, cols)
		// With wrapping off, a mark at the end of a line would land on the cell before its letter. And a row that is flowed
		// into begins with a wrap.
		if on := flows || wrapping && i > 0 && flowed(rows[i-1], cols) || hasMarks(r.text); on != wrapping {
			out, wrapping = appendMode(out, 7, on), on
		}
		out = append(out, r.text...)
		if r.end != (pen{}) {
			out = append(out, "\x1b[m"...)
		}
		if !flows && i+1 < len(rows) {
			out = append(out, "\r\n"...)
		}
	}
	if wrapping {
		out = appendMode(out, 7, false)
	}
	return out
}

func flowed(r row, cols int) bool { return r.wrapped && fills(r.text, cols) }

// hasMarks tells whether there is a character that combines with the one before.
func hasMarks(text []byte) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r >= 0x300 && runeWidth(r) == 0 {
			return true
		}
		text = text[size:]
	}
	return false
}

// fills says that a row's text is cols printable ASCII characters, whose width nobody disputes.
func fills(text []byte, cols int) bool {
	n := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0x1b:
			end := bytes.IndexByte(text[i:], 'm')
			if end < 0 {
				return false
			}
			i += end
		case c < ' ' || c >= 0x7f:
			return false
		default:
			n++
		}
	}
	return n == cols
}
