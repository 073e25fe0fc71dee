//go:build linux

package microsandbox_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// TestRigAgentOfMsb is our client against msb's own agent, of which this Backend uses no more than ping and one exec.
func TestRigAgentOfMsb(t *testing.T) {
	b := rig(t)
	id := start(t, b, small(t, "agent"))
	dial := func(t *testing.T) *agent.Conn {
		t.Helper()
		c, err := agent.DialRelay(long(t), msbSocket(id))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	exec := func(t *testing.T, cmd sandbox.Command) sandbox.Process {
		t.Helper()
		p, err := dial(t).Exec(long(t), cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	t.Run("ping", func(t *testing.T) {
		c := dial(t)
		for range 3 {
			if err := c.Ping(long(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("streams and code", func(t *testing.T) {
		p := exec(t, sandbox.Command{Path: "sh", Args: []string{"-c", "cat; echo err >&2; echo $V; exit 7"}, Env: []string{"V=v"}})
		if _, err := io.WriteString(p.Stdin(), "in\n"); err != nil {
			t.Error(err)
		}
		if err := p.Stdin().Close(); err != nil {
			t.Error(err)
		}
		out, _ := io.ReadAll(p.Stdout())
		errs, _ := io.ReadAll(p.Stderr())
		code, err := p.Wait(long(t))
		if string(out) != "in\nv\n" || string(errs) != "err\n" || code != 7 || err != nil {
			t.Errorf("%q %q %d %v", out, errs, code, err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		p := exec(t, sandbox.Command{Path: "sleep", Args: []string{"1000"}})
		if err := p.Signal(15); err != nil {
			t.Error(err)
		}
		if code, err := p.Wait(long(t)); code != -1 || err != nil {
			t.Errorf("%d %v", code, err)
		}
	})
	t.Run("terminal", func(t *testing.T) {
		p := exec(t, sandbox.Command{Path: "sh", Args: []string{"-c", "stty size; read x; stty size"}, TTY: true, Cols: 100, Rows: 30})
		until(t, p.Stdout(), "30 100")
		if err := p.Resize(160, 50); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(p.Stdin(), "\n"); err != nil {
			t.Error(err)
		}
		until(t, p.Stdout(), "50 160")
	})
	t.Run("no such program", func(t *testing.T) {
		if _, err := dial(t).Exec(long(t), sandbox.Command{Path: "/no/such"}); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("got %v", err)
		}
	})
	t.Run("tcp", func(t *testing.T) {
		if _, err := dial(t).DialTCP(long(t), "127.0.0.1", 4999); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("got %v", err)
		}
		serveEcho(t, b, id, 4998)
		c, err := dial(t).DialTCP(long(t), "127.0.0.1", 4998)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		echoes(t, c)
	})
	t.Run("a hang-up kills", func(t *testing.T) {
		p := exec(t, sandbox.Command{Path: "sleep", Args: []string{"4711"}})
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		eventually(t, "the process lives on", func() bool {
			out, _, _ := run(t, b, id, sandbox.Command{Path: "pgrep", Args: []string{"-f", "sleep 471[1]"}}, "")
			return out == ""
		})
	})
	t.Run("nobody waits for a reader", func(t *testing.T) {
		p := exec(t, sandbox.Command{Path: "head", Args: []string{"-c", "20000000", "/dev/zero"}})
		eventually(t, "it was not given up", func() bool {
			_, err := p.Wait(short(t))
			return claudehub.CodeOf(err) == claudehub.TooMany
		})
		if err := dial(t).Ping(long(t)); err != nil {
			t.Error(err)
		}
	})
}

// until reads up to a text.
func until(t testing.TB, r io.Reader, text string) string {
	t.Helper()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), text) {
		n, err := r.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			t.Fatalf("%q instead of %q: %v", all.String(), text, err)
		}
	}
	return all.String()
}
