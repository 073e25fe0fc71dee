package tmux_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"claude-hub/desktop/tmux"
)

// program makes a random program of escape sequences. It leaves out what tmux cannot tell, cells coloured by erasing, and
// coloured underlines, which tmux 3.3a, as the emulator here, does not always keep.
func program(r *rand.Rand, cols, rows, steps int, alternate *string) []byte {
	var b strings.Builder
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	word := func() string {
		return pick("hello ", "x", "한글", "é", "🙂", "e\u0301", "│─┐", strings.Repeat("long", cols/6), "\t", " ", "日本語テキスト", "~\\$%end 1 1 1")
	}
	colour := func() string {
		return pick("0", "1", "2", "3", "4", "5", "7", "8", "9", "21", "22", "24", "27", "53", "55", "4:3", "31", "42", "95", "103", "39", "49",
			"38;5;200", "48;5;17", "38;2;1;2;3", "48;2;250;128;0", "38:2::9:8:7", "")
	}
	for range steps {
		switch r.IntN(26) {
		case 0, 1, 2, 3, 4, 5, 6:
			b.WriteString(word())
		case 7, 8, 9:
			fmt.Fprintf(&b, "\x1b[%s;%sm", colour(), colour())
		case 10, 11:
			b.WriteString(pick("\r\n", "\n", "\r", "\b"))
		case 12, 13:
			fmt.Fprintf(&b, "\x1b[%d;%dH", 1+r.IntN(rows), 1+r.IntN(cols))
		case 14:
			fmt.Fprintf(&b, "\x1b[%d%s", 1+r.IntN(5), pick("A", "B", "C", "D", "G", "d"))
		case 15:
			// Erasing and scrolling with a default background only: see above.
			fmt.Fprintf(&b, "\x1b[m\x1b[%d%s", r.IntN(3), pick("J", "K", "L", "M", "P", "@", "X", "S", "T"))
		case 16:
			fmt.Fprintf(&b, "\x1b[?%d%s", []int{1, 7, 25, 1000, 1002, 1003, 1006, 2004, 1004}[r.IntN(9)], pick("h", "h", "l"))
		case 17:
			// In pairs: leaving what was not entered restores a cursor saved long ago, which tmux does not tell.
			if *alternate == "" {
				*alternate = pick("1049", "1047")
				b.WriteString("\x1b[?" + *alternate + "h")
			} else {
				b.WriteString("\x1b[?" + *alternate + "l")
				*alternate = ""
			}
		case 18:
			top := 1 + r.IntN(rows-1)
			fmt.Fprintf(&b, "\x1b[%d;%dr", top, top+1+r.IntN(rows-top))
		case 19:
			b.WriteString(pick("\x1b[r", "\x1b[4h", "\x1b[4l", "\x1b[?6h", "\x1b[?6l", "\x1b=", "\x1b>"))
		case 20:
			b.WriteString(pick("\x1b(0", "\x1b(B", "\x0e", "\x0f", "\x1b)0", "\x1bH", "\x1b[3g"))
		case 21:
			b.WriteString(pick("\x1b7", "\x1b[m\x1bM", "\x1b[m\x1bD"))
		case 22:
			b.WriteString("\x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x1b\\")
		case 23:
			fmt.Fprintf(&b, "\x1b[%d;1H%s", 1+r.IntN(rows), strings.Repeat("w", cols)) // waits to wrap
		case 24:
			fmt.Fprintf(&b, "\x1b[%d;1H%s", rows, strings.Repeat("\x1b[m\r\n"+word(), 3))
		case 25:
			b.WriteString(pick("\x1b[31", "\x1b]0;ti", "\xed\x95", "\xf0\x9f"))
			b.WriteString(pick("", "m", "\x07", "\x9c\x80"))
		}
	}
	return []byte(b.String())
}

func TestSnapshotEqualsPane(t *testing.T) {
	rounds := 80
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) { snapshotRound(t, rand.New(rand.NewPCG(1, uint64(round)))) })
	}
}

func snapshotRound(t *testing.T, r *rand.Rand) {
	const cols, rows = 30, 9
	alternate := ""
	first := program(r, cols, rows, 5+r.IntN(60), &alternate)
	second := program(r, cols, rows, r.IntN(12), &alternate)
	src := newSource(t, cols, rows)
	term := src.terminal(src.attach(0), tmux.Options{})
	write(t, src, string(first))
	quiet(src)
	before := term.log.snapshots()
	term.RequestSnapshot(5000)
	term.log.until(t, "snapshot", func() bool { return term.log.snapshots() > before })
	// The second half comes after the snapshot: it shows that what cannot be seen, the pen for one, is right too.
	const end = "\x18\x1b]2;end\x07"
	write(t, src, string(second)+end)
	settle(src.server, "end")
	want := src.state()
	term.log.until(t, "second half", func() bool { return strings.HasSuffix(term.log.deltas(), end) })
	data := term.log.screen()
	emu := newEmulator(t, cols, rows)
	emu.show(data)
	settle(emu.server, "end")
	if got := emu.state(); got != want {
		t.Errorf("first  %q\nsecond %q\ndata   %q\n%s", first, second, data, firstDifference(want, got))
	}
	must(t, term.stop())
}

func write(t testing.TB, s *source, data string) {
	t.Helper()
	if _, err := s.fifo.WriteString(data); err != nil {
		t.Fatal(err)
	}
}

// quiet waits until the pane has shown all that was written. Nothing may be written to say so, since the pane's parser
// may be in the middle of a sequence: cat waits in its read again, and tmux has read what it wrote.
func quiet(s *source) {
	s.t.Helper()
	var last string
	same := 0
	eventually(s.t, "quiet", func() bool {
		now := s.state()
		if now == last {
			same++
		} else {
			same = 0
		}
		last = now
		return same >= 3
	})
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if x != y {
			fmt.Fprintf(&b, "line %d\n want %s\n got  %s\n", i, x, y)
		}
	}
	return b.String()
}
