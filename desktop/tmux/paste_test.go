package tmux_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/term"

	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
)

const pasteReaderArg = "tmux-test-paste-reader"

// pasteReader is a program in the pane: it asks for bracketed pastes and tells the length and hash of each, and each key
// outside of one.
func pasteReader() {
	old, err := term.MakeRaw(0)
	if err != nil {
		panic(err)
	}
	defer func() { _ = term.Restore(0, old) }()
	fmt.Print("\x1b[?2004hready\r\n")
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	start := []byte("\x1b[200~")
	var paste bytes.Buffer
	for inside := false; ; {
		c, err := in.ReadByte()
		if err != nil {
			return
		}
		if inside {
			paste.WriteByte(c)
			if body, ok := bytes.CutSuffix(paste.Bytes(), []byte("\x1b[201~")); ok {
				fmt.Printf("paste %d %x\r\n", len(body), sha256.Sum256(body))
				inside = false
				paste.Reset()
			}
			continue
		}
		paste.WriteByte(c)
		switch s := paste.String(); {
		case s == string(start):
			inside = true
			paste.Reset()
		case !bytes.HasPrefix(start, []byte(s)):
			fmt.Printf("key %q\r\n", s)
			paste.Reset()
		}
	}
}

func TestT3Paste(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, 100, 24, self, pasteReaderArg)
	pane := s.terminal(s.attach(0), tmux.Options{})
	ctx := soon(t)
	eventually(t, "ready", func() bool { text, err := pane.Text(ctx); must(t, err); return strings.Contains(text, "ready") })
	line := "The quick 'brown' \"fox\" $HOME ~ \\n 한글 🙂 ;\t"
	n := uint64(0)
	for _, c := range []struct{ name, text, want string }{
		{"OneLine", strings.Repeat("x y", 550)[:1600], ""},
		{"MultiLine", strings.Repeat(line+"\n", 400)[:17000], ""},
		{"FiveMB", strings.Repeat(line+"\n", 120000)[:5<<20], ""},
		{"EndMarkerInside", "a\x1b[201~rm -rf\rb\x1b[20\x1b[201~1~c\x00\x03\u009bd", "arm -rf\nb[201~cd"},
		{"Dash", "-a -b x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = strings.ToValidUTF8(c.text, "\uFFFD")
			}
			n++
			must(t, pane.Paste(ctx, "p", n, []byte(c.text)))
			must(t, pane.Paste(ctx, "p", n, []byte(c.text))) // told again, not done again
			n++
			must(t, pane.Keys(ctx, "p", n, []byte("\r")))
			pane.log.until(t, "Enter", func() bool { return strings.Count(pane.log.deltas(), `key "\r"`) == int(n)/2 })
			got := pane.log.deltas()
			if line := fmt.Sprintf("paste %d %x\r\n", len(want), sha256.Sum256([]byte(want))); strings.Count(got, line) != 1 {
				t.Errorf("want once %q, got %q", line, tail(got, 300))
			}
		})
	}
	if got := strings.Count(pane.log.deltas(), "paste "); got != int(n)/2 {
		t.Errorf("%d pastes arrived", got)
	}
	err = pane.Paste(ctx, "p", n+1, make([]byte, 8<<20+1))
	if claudehub.CodeOf(err) != claudehub.TooLarge {
		t.Errorf("too large: %v", err)
	}
	if out := s.tmux("list-buffers"); out != "" {
		t.Errorf("buffers are left: %q", out)
	}
	must(t, pane.stop())
}
