//go:build linux

package microsandbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestRigExec(t *testing.T) {
	b := rig(t)
	id := start(t, b, small(t, "exec"))
	t.Run("streams, input and code", func(t *testing.T) {
		out, errs, code := run(t, b, id, sandbox.Command{Path: "sh", Args: []string{"-c", "cat; echo err >&2; exit 7"}}, "given\n")
		if out != "given\n" || errs != "err\n" || code != 7 {
			t.Errorf("%q %q %d", out, errs, code)
		}
	})
	t.Run("environment and place", func(t *testing.T) {
		const home = "/root" // of the Sandbox
		out, _, _ := run(t, b, id, sandbox.Command{Path: "env", Env: []string{"MINE=1", "TERM=dumb"}}, "")
		for _, want := range []string{"HOME=" + home + "\n", "LANG=C.UTF-8\n", "MINE=1\n", "TERM=dumb\n", "PATH=" + home + "/.local/bin:/usr/local/sbin:"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %q", want, out)
			}
		}
		for _, name := range []string{"KRUN_", "MSB_", "CLAUDE_HUB", "TMUX"} {
			if strings.Contains(out, name) {
				t.Errorf("%s is in %q", name, out)
			}
		}
		if out, _, _ := run(t, b, id, sandbox.Command{Path: "pwd"}, ""); out != "/workspace\n" {
			t.Errorf("it starts in %q", out)
		}
		if out, _, _ := run(t, b, id, sandbox.Command{Path: "pwd", Dir: "/etc"}, ""); out != "/etc\n" {
			t.Errorf("it starts in %q", out)
		}
		if out, _, _ := run(t, b, id, sandbox.Command{Path: "id", Args: []string{"-u"}}, ""); out != "0\n" {
			t.Errorf("it runs as %q", out)
		}
	})
	t.Run("what cannot start", func(t *testing.T) {
		for path, want := range map[string]claudehub.Code{"/no/such": claudehub.NotFound, "nosuchprogram": claudehub.NotFound, "/etc/passwd": claudehub.Forbidden} {
			if _, err := b.Exec(long(t), id, sandbox.Command{Path: path}); claudehub.CodeOf(err) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	t.Run("terminal", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "stty size; tty; read x; stty size; exit 3"}, TTY: true, Cols: 100, Rows: 30})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		until(t, p.Stdout(), "/dev/pts/")
		if err := p.Resize(160, 50); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(p.Stdin(), "\n"); err != nil {
			t.Error(err)
		}
		until(t, p.Stdout(), "50 160")
		if code, err := p.Wait(long(t)); code != 3 || err != nil {
			t.Errorf("%d, %v", code, err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "trap 'echo got; exit 9' USR1; echo up; while :; do sleep 0.1; done"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		until(t, p.Stdout(), "up")
		if err := p.Signal(10); err != nil {
			t.Error(err)
		}
		until(t, p.Stdout(), "got")
		if code, err := p.Wait(long(t)); code != 9 || err != nil {
			t.Errorf("%d, %v", code, err)
		}
	})
	t.Run("close kills the group, a daemon lives", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "setsid sleep 4242 & until grep -q sleep /proc/$!/comm; do :; done; sleep 4343 & echo up; wait"}})
		if err != nil {
			t.Fatal(err)
		}
		until(t, p.Stdout(), "up")
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		eventually(t, "the group lives on", func() bool { return !alive(t, b, id, "4343") })
		if !alive(t, b, id, "4242") {
			t.Error("the daemon was ended, too")
		}
		sh(t, b, id, "pkill -f 'sleep 424[2]'")
		eventually(t, "a dead daemon was not collected", func() bool {
			return sh(t, b, id, "ps -eo stat,args | grep -c '^Z' || true") == "0"
		})
	})
	t.Run("a megabyte through cat, both ways at once", func(t *testing.T) {
		in := strings.Repeat("0123456789abcdef", 4<<16)
		out, _, code := run(t, b, id, sandbox.Command{Path: "cat"}, in)
		if out != in || code != 0 {
			t.Errorf("%d bytes of %d, %d", len(out), len(in), code)
		}
	})
	t.Run("ten megabytes are whole", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "head -c 10000000 /dev/urandom | tee /tmp/r; sha256sum </tmp/r >&2; rm /tmp/r"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		sum := sha256.New()
		n, err := io.Copy(sum, p.Stdout())
		told, _ := io.ReadAll(p.Stderr())
		if got := hex.EncodeToString(sum.Sum(nil)); err != nil || n != 10000000 || !strings.HasPrefix(string(told), got) {
			t.Errorf("%d bytes, %s and not %s, %v", n, got, told, err)
		}
	})
	t.Run("a reader that stalls holds up nobody", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", Args: []string{"-c", "head -c 3000000 /dev/zero"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for range 3 {
			if got := sh(t, b, id, "echo here"); got != "here" {
				t.Errorf("got %q", got)
			}
		}
		if n, err := io.Copy(io.Discard, p.Stdout()); n != 3000000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
	t.Run("twenty at once", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				p, err := b.Exec(long(t), id, sandbox.Command{Path: "echo", Args: []string{fmt.Sprint(i)}})
				if err != nil {
					t.Error(err)
					return
				}
				defer p.Close()
				raw, _ := io.ReadAll(p.Stdout())
				if string(raw) != fmt.Sprintf("%d\n", i) {
					t.Errorf("%d got %q", i, raw)
				}
			})
		}
		all.Wait()
	})
	t.Run("a guest that was killed is there again", func(t *testing.T) {
		p, err := b.Exec(long(t), id, sandbox.Command{Path: "pkill", Args: []string{"-9", "-f", "[/]proc/self/exe -vm"}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Wait(long(t)); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("its own end was told as %v", err)
		}
		if got := sh(t, b, id, "echo again"); got != "again" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("dial", func(t *testing.T) {
		if _, err := b.Dial(long(t), id, 4999); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("got %v", err)
		}
		serveEcho(t, b, id, 4998)
		c, err := b.Dial(long(t), id, 4998)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		echoes(t, c)
	})
	t.Run("stats", func(t *testing.T) {
		s, err := b.Stats(long(t), id)
		if err != nil || s.MemoryBytes < 20<<20 || s.MemoryLimit != 512<<20 || s.GuestMemory < 5<<20 || s.CPU == 0 || s.DiskBytes == 0 {
			t.Errorf("%+v, %v", s, err)
		}
		t.Logf("%+v", s)
	})
	t.Run("a full disk", func(t *testing.T) {
		out, errs, code := run(t, b, id, sandbox.Command{Path: "sh", Args: []string{"-c", "fallocate -l 1800M /big && head -c 300M /dev/zero >/big2"}}, "")
		if code == 0 || !strings.Contains(errs, "No space") {
			t.Errorf("%q %q %d", out, errs, code)
		}
		sh(t, b, id, "rm -f /big /big2; echo ok >/etc/after")
	})
}

func alive(t testing.TB, b sandbox.Backend, id sandbox.ID, mark string) bool {
	t.Helper()
	p, err := b.Exec(long(t), id, sandbox.Command{Path: "pgrep", Args: []string{"-f", "sleep " + mark}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	raw, _ := io.ReadAll(p.Stdout())
	return len(raw) > 0
}
