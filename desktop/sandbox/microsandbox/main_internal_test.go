package microsandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/internal/claudehub"
)

// TestMain lets the test binary be a VM's process, too: "msb sandbox --name NAME".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sandbox" {
		time.Sleep(time.Minute) // whoever started it ends it sooner
		return
	}
	goleak.VerifyTestMain(m)
}

// backend makes one on a state folder of its own, with a script in the place of msb. The script sees the arguments,
// MSB_HOME, and nothing of this test's environment.
func backend(t *testing.T, script string) *Backend {
	t.Helper()
	dir, err := os.MkdirTemp("", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	write(t, program, "#!/bin/sh\ncase \"$1\" in --version) echo \"msb ${FAKE_VERSION:-"+Pinned+"}\"; exit;; esac\n"+script+"\n")
	guest := filepath.Join(dir, "guest-program")
	write(t, guest, "#!/bin/sh\n")
	b, err := New(Options{State: filepath.Join(dir, "s"), Program: program, Guest: guest})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // programs are executed
		t.Fatal(err)
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refused expects an error for people: its code, and words of its sentence.
func refused(t *testing.T, err error, code claudehub.Code, words string) {
	t.Helper()
	if claudehub.CodeOf(err) != code || !contains(claudehub.MessageOf(err), words) {
		t.Errorf("got %v (%s), want %s with %q", err, claudehub.CodeOf(err), code, words)
	}
}
