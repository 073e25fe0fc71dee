package tmux

import (
	"bytes"
	"slices"
	"testing"
)

func TestMarkWrapped(t *testing.T) {
	split := func(s string) [][]byte { return bytes.Split([]byte(s), []byte("\n")) }
	for _, c := range []struct {
		name, lines, joined string
		want                []bool
	}{
		{"None", "a\nb", "a\nb", []bool{false, false}},
		{"Two", "am\x1b[31mbm\n\x1b[39mcc\nd", "ambmcc\nd", []bool{true, false, false}},
		{"Three", "aa\nbb\nc\n", "aabbc\n", []bool{true, true, false, false}},
		{"Shifted", "\x0eq\x0fa\nb", "qab", []bool{true, false}},
		{"Differs", "aa\nbb\ncc", "aa\nxbcc", []bool{false, false, false}},
		{"Missing", "aa\nbb", "", []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := make([]row, len(split(c.lines)))
			markWrapped(rows, split(c.lines), split(c.joined))
			var got []bool
			for _, r := range rows {
				got = append(got, r.wrapped)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// FuzzRows: captured lines are from a stranger.
func FuzzRows(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b[4:3;38;5;1m\n\x0eq\x0f\x1b[38:2::1:2:3mx\x1b["), []byte("ab\nqx"))
	f.Fuzz(func(t *testing.T, data, joined []byte) {
		lines := bytes.Split(data, []byte("\n"))
		rows := parseRows(lines, bytes.Split(joined, []byte("\n")))
		out := appendLines(nil, rows, 10)
		for _, r := range rows {
			if i := bytes.IndexByte(r.text, 0x1b); i >= 0 && bytes.IndexByte(r.text[i:], 'm') < 0 {
				t.Fatalf("an open sequence in %q", r.text)
			}
			if bytes.ContainsAny(r.text, "\r\n\x00") {
				t.Fatalf("control characters in %q", r.text)
			}
			textWidth(r.text)
		}
		newTracker().feed(out)
	})
}

// FuzzTracker: wherever the output is split, what is tracked is the same.
func FuzzTracker(f *testing.F) {
	f.Add([]byte("\x1b[31;4:3m\x1b7\x1b[?1049h\x1b[0m한\xed\x95\x1b]0;t\x07\x1b(0\x0e\x1b[?2004h\x1b[3 q\x1bP1;2mux\x1b\\\x1b8"), uint(5))
	f.Fuzz(func(t *testing.T, data []byte, at uint) {
		whole, parts := newTracker(), newTracker()
		whole.feed(data)
		i := int(at % uint(len(data)+1))
		parts.feed(data[:i])
		parts.feed(data[i:])
		a := append(whole.appendPen(whole.appendModes(nil)), whole.tail...)
		b := append(parts.appendPen(parts.appendModes(nil)), parts.tail...)
		if !bytes.Equal(a, b) || whole.state != parts.state {
			t.Fatalf("split at %d: %q %d, whole %q %d", i, b, parts.state, a, whole.state)
		}
	})
}
