package tmux_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/desktop/tmux"
)

func TestStart(t *testing.T) {
	t.Run("ArgvAsItIs", func(t *testing.T) {
		s := startServer(t, 100, 24, "sh", "-c", `printf '<%s>' "$@"; cat`, "sh", ";", "a;", `b\;`, "$HOME #{pane_id}", "c d", "")
		eventually(t, "arguments", func() bool {
			return strings.Contains(s.tmux("capture-pane", "-p", "-t", "main:"), `<;><a;><b\;><$HOME #{pane_id}><c d><>`)
		})
	})
	t.Run("SecretsByEnvironment", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "s")
		path, args := tmux.StartCommand(tmux.Start{Socket: socket, Cols: 80, Rows: 24, Argv: []string{"sh", "-c", `echo "secret $THE_TOKEN"; cat`}})
		cmd := exec.Command(path, args...)
		cmd.Env = append(cmd.Environ(), "THE_TOKEN=abc123")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		s := &server{t: t, socket: socket}
		defer s.tmux("kill-server")
		eventually(t, "secret", func() bool { return strings.Contains(s.tmux("capture-pane", "-p", "-t", "main:"), "secret abc123") })
		if strings.Contains(strings.Join(args, " "), "abc123") {
			t.Error("the secret is an argument")
		}
	})
	t.Run("ClipboardWritePassesReadIsNotAnswered", func(t *testing.T) {
		s := startServer(t, 80, 24, shell(`stty raw -echo; printf =; read -r x; printf '\033]52;c;aGVsbG8=\007\033]52;c;?\007done'; cat -v`)...)
		term := s.terminal(s.attach(0), tmux.Options{})
		eventually(t, "raw", func() bool { return strings.Contains(s.tmux("capture-pane", "-p", "-t", "main:"), "=") })
		must(t, term.Keys(soon(t), "t", 1, []byte("\n")))
		term.log.until(t, "done", func() bool { return strings.Contains(term.log.deltas(), "done") })
		must(t, term.Keys(soon(t), "t", 2, []byte("key")))
		term.log.until(t, "key", func() bool { return strings.HasSuffix(term.log.deltas(), "key") })
		if got := strings.TrimPrefix(term.log.deltas(), "="); got != "\x1b]52;c;aGVsbG8=\x07\x1b]52;c;?\x07donekey" {
			t.Errorf("deltas %q", got)
		}
		if out := s.tmux("list-buffers"); out != "" {
			t.Errorf("tmux kept a copy: %q", out)
		}
	})
	t.Run("NothingLogged", func(t *testing.T) {
		s := startServer(t, 80, 24, "cat")
		term := s.terminal(s.attach(0), tmux.Options{})
		must(t, term.Keys(soon(t), "t", 1, []byte("very-secret")))
		if out := s.tmux("show-messages"); strings.Contains(out, "very-secret") {
			t.Errorf("tmux logs %q", out)
		}
	})
}
