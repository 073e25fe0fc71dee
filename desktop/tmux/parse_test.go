package tmux_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/desktop/tmux"
)

// parse feeds pieces and gives the events, Output's data copied.
func parse(pieces ...[]byte) ([]tmux.Event, error) {
	var p tmux.Parser
	var events []tmux.Event
	for _, piece := range pieces {
		if err := p.Feed(piece, func(e tmux.Event) {
			if o, ok := e.(tmux.Output); ok {
				o.Data = bytes.Clone(o.Data)
				e = o
			}
			events = append(events, e)
		}); err != nil {
			return events, err
		}
	}
	return events, nil
}

func TestParse(t *testing.T) {
	lines := func(s ...string) (out [][]byte) {
		for _, l := range s {
			out = append(out, []byte(l))
		}
		return out
	}
	for _, c := range []struct {
		name, in string
		want     []tmux.Event
	}{
		{"Output", "%output %0 a\\015\\012\\033[m\\134x é\n", []tmux.Event{tmux.Output{Pane: "%0", Age: -1, Data: []byte("a\r\n\x1b[m\\x é")}}},
		{"OutputEmpty", "%output %0 \n", []tmux.Event{tmux.Output{Pane: "%0", Age: -1, Data: nil}}},
		{"OutputAllBytes", "%output %0 \\000\\377\\12\\9\\4000\\\n", []tmux.Event{tmux.Output{Pane: "%0", Age: -1, Data: []byte("\x00\xff\\12\\9\\4000\\")}}},
		{"Extended", "%extended-output %1 12 : a : b\n", []tmux.Event{tmux.Output{Pane: "%1", Age: 12, Data: []byte("a : b")}}},
		{"ExtendedMore", "%extended-output %1 12 new : x\n", []tmux.Event{tmux.Output{Pane: "%1", Age: 12, Data: []byte("x")}}},
		{"ExtendedBad", "%extended-output %1 x : y\n", []tmux.Event{tmux.Unknown{Line: "%extended-output %1 x : y"}}},
		{"Block", "%begin 1 2 1\na\n\n%output %0 no\n%end 1 3 1\n%end 1 2 0\n%error 9 2 1\n%end 1 2 1\n", []tmux.Event{
			tmux.Block{Time: 1, Number: 2, Flags: 1, Lines: lines("a", "", "%output %0 no", "%end 1 3 1", "%end 1 2 0", "%error 9 2 1")}}},
		{"Error", "%begin 1 2 0\nno\n%error 1 2 0\n", []tmux.Event{tmux.Block{Time: 1, Number: 2, Failed: true, Lines: lines("no")}}},
		{"Pause", "%pause %0\n%continue %0\n", []tmux.Event{tmux.Pause{Pane: "%0"}, tmux.Continue{Pane: "%0"}}},
		{"Exit", "%exit\n%exit too far behind\n", []tmux.Event{tmux.Exit{}, tmux.Exit{Reason: "too far behind"}}},
		{"Notices", "%window-renamed @0 a b\n%layout-change @0 b25d,80x24 x *\n%session-changed $0 main\n", []tmux.Event{
			tmux.Notice{Name: "window-renamed", Args: "@0 a b"}, tmux.Notice{Name: "layout-change", Args: "@0 b25d,80x24 x *"},
			tmux.Notice{Name: "session-changed", Args: "$0 main"}}},
		{"Unknown", "%new-thing 1\nwhat\n%end 1 2 3\n%begin x\n\n", []tmux.Event{
			tmux.Unknown{Line: "%new-thing 1"}, tmux.Unknown{Line: "what"}, tmux.Unknown{Line: "%end 1 2 3"}, tmux.Unknown{Line: "%begin x"}, tmux.Unknown{}}},
		{"Unfinished", "%output %0 a", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmp.Transformer("bytes", func(b []byte) string { return string(b) })); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseBounds(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<20+1)
	if _, err := parse(long); !errors.Is(err, tmux.ErrLineTooLong) {
		t.Errorf("a long line in one piece: %v", err)
	}
	if _, err := parse(append(long, '\n')); !errors.Is(err, tmux.ErrLineTooLong) {
		t.Errorf("a long line with its end: %v", err)
	}
	var p tmux.Parser
	var err error
	for i := 0; err == nil && i < 3<<20; i += 1000 {
		err = p.Feed(long[:1000], func(tmux.Event) {})
	}
	if !errors.Is(err, tmux.ErrLineTooLong) {
		t.Errorf("a long line in pieces: %v", err)
	}
	if err := p.Feed([]byte("%exit\n"), func(tmux.Event) { t.Error("an event after the end") }); err == nil {
		t.Error("an error is not final")
	}
	p = tmux.Parser{}
	err = p.Feed([]byte("%begin 1 1 1\n"), nil)
	for i := 0; err == nil && i < 100; i++ {
		err = p.Feed(bytes.Repeat([]byte("\n"), 1<<20), nil)
	}
	if !errors.Is(err, tmux.ErrBlockTooLarge) {
		t.Errorf("an endless answer: %v", err)
	}
}

// FuzzParse: wherever the input is split, the events are the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("%begin 1 2 1\na\n%end 1 2 1\n%output %0 \\033[m\\134\n%extended-output %0 5 : x\n%exit\n"), uint(3), uint(7))
	f.Add([]byte("%pause %0\n%begin 1 2 0\n%error 1 2 0\n%window-add @1\n\n\\01"), uint(1), uint(1))
	f.Fuzz(func(t *testing.T, data []byte, a, b uint) {
		want, werr := parse(data)
		i := int(a % uint(len(data)+1))
		j := i + int(b%uint(len(data)-i+1))
		singles := make([][]byte, len(data))
		for k := range data {
			singles[k] = data[k : k+1]
		}
		for _, pieces := range [][][]byte{{data[:i], data[i:j], data[j:]}, singles} {
			got, gerr := parse(pieces...)
			if fmt.Sprint(werr) != fmt.Sprint(gerr) || !cmp.Equal(want, got) {
				t.Fatalf("split %d %d: %v %v, want %v %v", i, j, got, gerr, want, werr)
			}
		}
	})
}

func BenchmarkParseOutput(b *testing.B) {
	line := []byte("%extended-output %0 0 : " + strings.Repeat("y\\015\\012", 300) + "\n")
	var p tmux.Parser
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if err := p.Feed(line, func(tmux.Event) {}); err != nil {
			b.Fatal(err)
		}
	}
}
