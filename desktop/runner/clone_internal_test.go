package runner

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
)

func TestGitsWordsBecomeASentence(t *testing.T) {
	src := claudehub.Source{GitURL: "https://example.org/a/b", Branch: "nope"}
	for said, want := range map[string]claudehub.Code{
		"warning: Could not find remote branch nope to clone.\nfatal: Remote branch nope not found in upstream origin": claudehub.Invalid,
		"fatal: unable to access 'x': Could not resolve host: example.org":                                             claudehub.Unavailable,
		"fatal: could not read Username for 'https://example.org': terminal prompts disabled":                          claudehub.Forbidden,
		"fatal: remote error: access denied or repository not exported: /nothing.git":                                  claudehub.NotFound,
		"fatal: repository 'https://example.org/a/b/' not found":                                                       claudehub.NotFound,
		"fatal: unable to access: Failed to connect to 127.0.0.1 port 1: Connection refused":                           claudehub.Unavailable,
		"fatal: write error: No space left on device":                                                                  claudehub.Unavailable,
		"something new": claudehub.Unavailable,
	} {
		f := failureOf(cloneError(src, said), nil)
		if got := claudehub.CodeOf(cloneError(src, said)); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
		if f.Step != stepClone || f.Reason == "" || f.Fix == "" || f.Detail != said {
			t.Errorf("%q: %+v", said, f)
		}
	}
}

func TestWipeFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := wipe(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a file outside is gone: %v", err)
	}
}

// FuzzSplitLines: however the bytes come, no byte of a line is lost, and no line is without bound.
func FuzzSplitLines(f *testing.F) {
	f.Add([]byte("Receiving objects:  10% (1/10)\rReceiving objects: 100% (10/10)\ndone\n"))
	f.Add(bytes.Repeat([]byte("x"), 3*maxTail))
	f.Fuzz(func(t *testing.T, in []byte) {
		lines := bufio.NewScanner(&oneByte{in})
		lines.Split(splitLines)
		lines.Buffer(nil, 8*maxTail)
		var got strings.Builder
		for lines.Scan() {
			if len(lines.Bytes()) > 2*maxTail {
				t.Fatalf("a line of %d bytes", len(lines.Bytes()))
			}
			got.Write(lines.Bytes())
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("\r", "", "\n", "").Replace(string(in))
		if got.String() != want {
			t.Errorf("got %q, want %q", got.String(), want)
		}
	})
}

type oneByte struct{ b []byte }

func (o *oneByte) Read(p []byte) (int, error) {
	if len(o.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], o.b)
	o.b = o.b[n:]
	return n, nil
}
