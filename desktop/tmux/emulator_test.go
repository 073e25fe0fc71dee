package tmux_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// emulator is a second tmux server whose pane shows what is written to it: a terminal that is not the one under test and
// that can be asked for its screen.
type emulator struct {
	*server
	fifo *os.File
}

func newEmulator(t testing.TB, cols, rows uint16) *emulator {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v: %s", err, out)
	}
	s := startServer(t, cols, rows, "sh", "-c", `stty raw -echo; exec cat "$0"`, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &emulator{server: s, fifo: f}
}

// show writes data and waits until the pane has read it.
func (e *emulator) show(data []byte) {
	e.t.Helper()
	if _, err := e.fifo.Write(data); err != nil {
		e.t.Fatal(err)
	}
}

// settle waits until what was shown, or printed by a program that prints it, is on the screen: a title comes last.
func settle(s *server, title string) {
	s.t.Helper()
	eventually(s.t, "title "+title, func() bool {
		return strings.TrimSpace(s.tmux("display-message", "-p", "-t", "main:", "#{pane_title}")) == title
	})
}

// state is all that tmux tells of a pane, as text to compare.
func (s *server) state() string {
	s.t.Helper()
	const format = "at #{cursor_x},#{cursor_y} region #{scroll_region_upper}-#{scroll_region_lower} " +
		"alt #{alternate_on} flags c#{cursor_flag} i#{insert_flag} kc#{keypad_cursor_flag} k#{keypad_flag} " +
		"o#{origin_flag} w#{wrap_flag} m#{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag}#{mouse_sgr_flag}#{mouse_utf8_flag} " +
		"tabs #{pane_tabs} history #{history_size}"
	out := []string{s.tmux("display-message", "-p", "-t", "main:", format)}
	out = append(out, cells(s.tmux("capture-pane", "-p", "-e", "-N", "-S", "-5000", "-t", "main:"))...)
	out = append(out, "saved:")
	out = append(out, cells(s.tmux("capture-pane", "-p", "-e", "-N", "-a", "-q", "-t", "main:"))...)
	return strings.Join(out, "\n")
}

// source is a pane that prints what it is told, one piece at a time.
type source struct {
	*server
	fifo *os.File
}

func newSource(t testing.TB, cols, rows uint16) *source {
	e := newEmulator(t, cols, rows)
	return &source{e.server, e.fifo}
}
