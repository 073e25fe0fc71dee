package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/internal/claudehub"
)

// told writes what a keyboard heard, keys in a row as one.
func told(feeds [][]byte, flush bool) string {
	var out strings.Builder
	var keys []byte
	end := func() {
		if len(keys) > 0 {
			fmt.Fprintf(&out, "keys %q\n", keys)
			keys = nil
		}
	}
	k := keyboard{leave: 0x1d}
	do := func(t typed) {
		switch {
		case t.keys != nil:
			keys = append(keys, t.keys...)
			return
		case t.detach:
			end()
			out.WriteString("detach\n")
		case t.mouse != nil:
			end()
			fmt.Fprintf(&out, "mouse %s\n", t.mouse.bytes())
		default:
			end()
			fmt.Fprintf(&out, "paste %q\n", t.paste)
		}
	}
	for _, b := range feeds {
		k.feed(b, do)
	}
	if flush {
		k.flush(do)
	}
	end()
	return out.String()
}

func TestKeyboard(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                                   "keys \"abc\"\n",
		"a\x1db":                                "keys \"a\"\ndetach\nkeys \"b\"\n",
		"\x1b":                                  "keys \"\\x1b\"\n",
		"\x1b[A\x1bOB\x1bx":                     "keys \"\\x1b[A\\x1bOB\\x1bx\"\n",
		"x\x1b[200~a\r\nb\x1d\x1b[20\x1b[201~y": "keys \"x\"\npaste \"a\\nb\\x1d\\x1b[20\"\nkeys \"y\"\n",
		"\x1b[200~\x1b[201~":                    "paste \"\"\n",
		"\x1b[<0;3;4M\x1b[<0;3;4m":              "mouse \x1b[<0;3;4M\nmouse \x1b[<0;3;4m\n",
		"\x1b[<0;3M":                            "keys \"\\x1b[<0;3M\"\n",
		"\x1b[<999999999999999999999999;1;1M":   "keys \"\\x1b[<999999999999999999999999;1;1M\"\n",
		"é漢👍":                                   "keys \"é漢👍\"\n",
	} {
		if diff := cmp.Diff(want, told([][]byte{[]byte(in)}, true)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
		var single [][]byte
		for i := range len(in) {
			single = append(single, []byte{in[i]})
		}
		if diff := cmp.Diff(want, told(single, true)); diff != "" {
			t.Errorf("%q, byte by byte: %s", in, diff)
		}
	}
}

// FuzzKeyboard: however the bytes are split, they mean the same.
func FuzzKeyboard(f *testing.F) {
	f.Add([]byte("ab\x1b[200~x\x1b[201~\x1b[<35;1;2Mc\x1d"), uint8(3))
	f.Add([]byte("\x1b\x1b[\x1b[2\x1b[200~\x1b[20\x1b[201~"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, at uint8) {
		n := min(int(at), len(in))
		whole := told([][]byte{in}, true)
		if split := told([][]byte{in[:n], in[n:]}, true); split != whole {
			t.Errorf("%q split at %d: %q, not %q", in, n, split, whole)
		}
	})
}

func TestPasteTooLarge(t *testing.T) {
	k := keyboard{leave: 0x1d}
	var got []typed
	do := func(t typed) { got = append(got, t) }
	k.feed([]byte(pasteStart), do)
	block := []byte(strings.Repeat("x", 64<<10))
	for range 40 {
		k.feed(block, do)
	}
	k.feed([]byte(pasteEnd+"k"), do)
	if len(got) != 2 || len(got[0].paste) != claudehub.MaxPaste+1 || string(got[1].keys) != "k" {
		t.Errorf("%d pieces", len(got))
	}
}

func TestDetachKey(t *testing.T) {
	for s, want := range map[string]byte{"ctrl-]": 0x1d, "ctrl-a": 1, "Ctrl-Q": 0x11, `ctrl-\`: 0x1c, "ctrl-_": 0x1f} {
		if b, err := parseKey(s); err != nil || b != want {
			t.Errorf("%s is %#x, %v", s, b, err)
		}
	}
	for _, s := range []string{"", "x", "ctrl-", "ctrl-m", "ctrl-i", "ctrl-[", "ctrl-ab", "alt-x"} {
		if _, err := parseKey(s); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q is taken", s)
		}
	}
}

// Keys that were held down, or typed while the machine was busy, come in one piece.
func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                           nil,
		"q":                          {"q"},
		"jk\x03":                     {"j", "k", "\x03"},
		"\x1b[A\x1b[D\x1bOA\x1b[5~q": {"\x1b[A", "\x1b[D", "\x1bOA", "\x1b[5~", "q"},
		"\x1b[1;5Ax":                 {"\x1b[1;5A", "x"},
		"\x1b":                       {"\x1b"},
		"\x1b[":                      {"\x1b", "["},
		"\x1b\x1b[A":                 {"\x1b", "\x1b[A"},
		"\x1b[12":                    {"\x1b[12"},
	} {
		if got := split([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q is %q", text, got)
		}
	}
}
