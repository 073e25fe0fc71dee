//go:build linux

package bubblewrap_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestExecStreamsAndCodes(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{})
	r := run(t, b, id, sandbox.Command{Path: "sh", Args: []string{"-c", "cat; echo err >&2; exit 3"}}, "in")
	if r != (result{"in", "err\n", 3}) {
		t.Errorf("got %+v", r)
	}
	if r := sh(t, b, id, "kill -9 $$"); r.code != -1 {
		t.Errorf("a killed command has code %d", r.code)
	}
	if r := run(t, b, id, sandbox.Command{Path: "pwd", Dir: "/usr/bin"}, ""); r.out != "/usr/bin\n" {
		t.Errorf("got %+v", r)
	}
	if _, err := b.Exec(ctx(t), id, sandbox.Command{Path: "no-such"}); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestASecretGoesToItsProcessAlone(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	id := start(t, b, sandbox.Spec{})
	p, err := b.Exec(ctx(t), id, sandbox.Command{
		Path: "sh", Args: []string{"-c", "echo ready; exec sleep 1000"}, Env: []string{"TOKEN=very-secret-word"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if l, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil || l != "ready\n" {
		t.Fatalf("%q, %v", l, err)
	}
	if r := sh(t, b, id, "env"); strings.Contains(r.out, "very-secret-word") {
		t.Error("another command has it")
	}
	err = filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("very-secret-word")) {
			t.Errorf("%s has it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte("very-secret-word")) {
			t.Errorf("%s has it", path)
		}
	}
}

func TestExecOnATerminal(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{})
	p, err := b.Exec(ctx(t), id, sandbox.Command{
		Path: "sh", Args: []string{"-c", "stty -echo; stty size; tty; read x; stty size"}, TTY: true, Cols: 90, Rows: 33,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out := bufio.NewReader(p.Stdout())
	for _, want := range []string{"33 90\r\n", "/dev/pts/0\r\n"} {
		if l, err := out.ReadString('\n'); err != nil || l != want {
			t.Errorf("%q, %v", l, err)
		}
	}
	if err := p.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin(), "\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil || string(rest) != "40 120\r\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if code, err := p.Wait(ctx(t)); err != nil || code != 0 {
		t.Errorf("%d, %v", code, err)
	}
}

func TestFiftyMegabytesArriveWhole(t *testing.T) {
	b := newBackend(t)
	dir := t.TempDir()
	id := start(t, b, sandbox.Spec{Mounts: []sandbox.Mount{{Host: dir, Guest: "/workspace"}}})
	const n = 50 << 20
	must(t, b, id, "head -c "+strconv.Itoa(n)+" /dev/urandom > f")
	want, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil || len(want) != n {
		t.Fatalf("%d bytes, %v", len(want), err)
	}
	p, err := b.Exec(ctx(t), id, sandbox.Command{Path: "cat", Args: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	sum := sha256.New()
	if got, err := io.Copy(sum, p.Stdout()); err != nil || got != n {
		t.Fatalf("%d bytes, %v", got, err)
	}
	if expected := sha256.Sum256(want); !bytes.Equal(sum.Sum(nil), expected[:]) {
		t.Error("they are not the same")
	}
}

// TestAReaderThatStallsDelaysNobodyElse: one command floods and is not read; others answer meanwhile, and memory stays.
func TestAReaderThatStallsDelaysNobodyElse(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{})
	flood, err := b.Exec(ctx(t), id, sandbox.Command{Path: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	defer flood.Close()
	slowest := time.Duration(0)
	for range 20 {
		began := time.Now()
		if r := sh(t, b, id, "echo hi"); r.out != "hi\n" {
			t.Fatalf("got %+v", r)
		}
		slowest = max(slowest, time.Since(began))
	}
	if slowest > 5*time.Second {
		t.Errorf("a command took %v", slowest)
	}
	s, err := b.Stats(ctx(t), id)
	if err != nil {
		t.Fatal(err)
	}
	if s.MemoryBytes > 200<<20 || s.Processes < 2 {
		t.Errorf("got %+v", s)
	}
	for end := time.Now().Add(20 * time.Second); s.CPU <= 0; { // it is counted in hundredths of a second
		if time.Now().After(end) {
			t.Fatalf("got %+v", s)
		}
		must(t, b, id, "seq 100000 >/dev/null")
		if s, err = b.Stats(ctx(t), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := flood.Signal(int(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, flood.Stdout()); err != nil || n == 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if code, err := flood.Wait(ctx(t)); err != nil || code != -1 {
		t.Errorf("%d, %v", code, err)
	}
}

// TestTmuxOutlivesItsExec: the server is started by one command and attached by others, as the Runner does.
func TestTmuxOutlivesItsExec(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{})
	must(t, b, id, "tmux new-session -d -s claude -x 80 -y 24 'exec cat'")
	for range 2 {
		p, err := b.Exec(ctx(t), id, sandbox.Command{Path: "tmux", Args: []string{"-C", "attach", "-t", "claude"}})
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(p.Stdout())
		next := func() string {
			l, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		// A command that tmux reads before it has attached us is carried out, and its output is not for us yet.
		for !strings.HasPrefix(next(), "%session-changed") {
		}
		if _, err := io.WriteString(p.Stdin(), "send-keys -l echo-me\n"); err != nil {
			t.Fatal(err)
		}
		var echoed strings.Builder
		for !strings.Contains(echoed.String(), "echo-me") { // it may come in pieces
			if text, ok := strings.CutPrefix(next(), "%output %0 "); ok {
				echoed.WriteString(strings.TrimSuffix(text, "\n"))
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		// tmux 3.3a dies of telling a control client that just connects of one that just left.
		for must(t, b, id, "tmux list-clients") != "" {
		}
	}
	if got := must(t, b, id, "tmux list-sessions -F '#{session_name}'"); got != "claude" {
		t.Errorf("got %q", got)
	}
}

func TestToolsThatASessionNeeds(t *testing.T) {
	b := newBackend(t)
	id := start(t, b, sandbox.Spec{Mounts: []sandbox.Mount{{Host: t.TempDir(), Guest: "/workspace"}}})
	must(t, b, id, "git init -q . && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm m && git log --oneline")
	must(t, b, id, "getent hosts localhost; test -s /etc/ssl/certs/ca-certificates.crt; date >/dev/null; mktemp -d >/dev/null")
	if got := must(t, b, id, "for i in 1 2 3 4; do (echo $i) & done; wait; git status --short | wc -l"); !strings.HasSuffix(got, "0") {
		t.Errorf("got %q", got)
	}
}

func TestExecWhereNothingRuns(t *testing.T) {
	b := newBackend(t)
	for _, id := range []sandbox.ID{"none", "../x", ""} {
		if _, err := b.Exec(ctx(t), id, sandbox.Command{Path: "true"}); err == nil {
			t.Errorf("%q ran something", id)
		}
	}
	id := start(t, b, sandbox.Spec{})
	if err := b.Stop(ctx(t), id, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(ctx(t), id, sandbox.Command{Path: "true"}); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
	if s, err := b.Stats(ctx(t), id); err != nil || s != (sandbox.Stats{}) {
		t.Errorf("a stopped one: %+v, %v", s, err)
	}
	if _, err := b.Stats(ctx(t), "none"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
}
