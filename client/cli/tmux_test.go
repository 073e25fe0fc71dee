package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// person is someone at a real terminal, a tmux pane with a shell in it.
type person struct {
	*stage
	t      testing.TB
	socket string
}

func (s *stage) sitDown(t testing.TB, cols, rows int) *person {
	t.Helper()
	return s.sitDownWith(t, cols, rows, withCook+"='"+s.cookie+"'")
}

// sitDownWith has something more in the program's environment.
func (s *stage) sitDownWith(t testing.TB, cols, rows int, env string) *person {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	check(t, err)
	// The cookie stands in for a token that is kept in a file: it is in no argument of the program under test.
	writeFile(t, filepath.Join(bin, "claude-hub"), fmt.Sprintf(
		"#!/bin/sh\n%s=1 %s CLAUDE_HUB_URL=%s XDG_CONFIG_HOME=%s exec %s \"$@\"\n", asProgram, env, s.URL, s.dir, self), 0o700)
	p := &person{stage: s, t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	conf := filepath.Join(bin, "tmux.conf")
	writeFile(t, conf, "set -g default-terminal tmux-256color\nset -as terminal-overrides ',*:Tc'\nset -g status off\nset -g set-clipboard external\nset -g escape-time 0\n", 0o600)
	p.tmux("-f", conf, "new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows),
		"env", "PATH="+bin+":"+os.Getenv("PATH"), "PS1=shell> ", "LC_ALL=C.UTF-8", "HISTFILE=", "bash", "--norc", "--noprofile")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() }) // also after the test's deadline
	p.sees("shell>")
	return p
}

func (p *person) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.CommandContext(p.ctx, "tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func (p *person) types(text string)   { p.t.Helper(); p.tmux("send-keys", "-l", text) }
func (p *person) presses(keys string) { p.t.Helper(); p.tmux("send-keys", keys) }
func (p *person) enters(line string)  { p.t.Helper(); p.types(line); p.presses("Enter") }

// afresh enters a line on an empty screen, so that what is seen next is not of the line before.
func (p *person) afresh(line string) { p.t.Helper(); p.presses("-R"); p.enters(line) }

func (p *person) screen() string { p.t.Helper(); return p.tmux("capture-pane", "-p") }
func (p *person) asks(format string) string {
	p.t.Helper()
	return p.tmux("display-message", "-p", format)
}

func (p *person) sees(text string) {
	p.t.Helper()
	p.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (p *person) until(what string, ok func(screen string) bool) {
	p.t.Helper()
	last := ""
	defer func() {
		if p.t.Failed() {
			p.t.Logf("the screen:\n%s", last)
		}
	}()
	p.poll(p.t, what, func() bool { last = p.screen(); return ok(last) })
}

// attach sits down in the Session's terminal, and returns once it is linked: what is typed before that is not sent.
func (p *person) attach(verb string) {
	p.t.Helper()
	p.enters("claude-hub sessions " + verb + " " + string(p.sess.ID) + "; echo exit=$?")
	p.poll(p.t, "the other screen", func() bool { return p.asks("#{alternate_on}") == "1" })
	p.poll(p.t, "a viewer", func() bool { return p.term.Attached() > 0 })
	p.until("the link", func(screen string) bool {
		return !strings.Contains(screen, "Linking") && !strings.Contains(screen, "Waiting for")
	})
}

func (p *person) output(text string) {
	p.t.Helper()
	check(p.t, p.term.Write(p.ctx, []byte(text)))
}

func TestAttach(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.enters("stty -g > " + s.dir + "/before; echo kept")
	p.sees("kept")
	p.attach("attach")
	p.sees("ctrl-] leaves")
	p.output("ready> ")
	p.sees("ready>")
	p.types("hello")
	p.sees("ready> hello")
	p.until("the hint goes when one types", func(screen string) bool { return !strings.Contains(screen, "leaves") })
	p.poll(t, "the size is claimed", func() bool { c, r := s.term.Size(); return c == 80 && r == 24 })
	p.presses("C-c") // belongs to the Session
	p.poll(t, "ctrl-c", func() bool { return strings.HasSuffix(string(s.term.Output()), "\x03") })

	p.presses("C-]")
	p.sees("exit=0")
	p.sees("kept")
	p.sees("It goes on; come back with: claude-hub sessions attach")
	if on := p.asks("#{alternate_on}#{mouse_any_flag}#{keypad_cursor_flag}#{bracket_paste_flag}"); !strings.HasPrefix(on, "000") {
		t.Errorf("modes stayed: %s", on)
	}
	p.enters("stty -g | cmp - " + s.dir + "/before && echo same")
	p.sees("same")
}

func TestAttachKilled(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	for _, signal := range []string{"TERM", "HUP", "INT"} {
		p.attach("attach")
		p.sees("ctrl-] leaves")
		pid := p.tmux("list-panes", "-F", "#{pane_pid}")
		out, err := exec.CommandContext(s.ctx, "pkill", "-"+signal, "-P", pid).CombinedOutput()
		if err != nil {
			t.Fatalf("pkill: %v: %s", err, out)
		}
		p.sees("exit=130")
		if on := p.asks("#{alternate_on}"); on != "0" {
			t.Errorf("after %s: the other screen stayed", signal)
		}
		p.presses("C-l")
		p.enters("clear")
		p.until("a clear screen", func(screen string) bool { return strings.TrimSpace(screen) == "shell>" })
		p.poll(t, "nobody attached", func() bool { return s.term.Attached() >= 0 })
	}
}

func TestAttachPaste(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.attach("attach")
	p.output("> ")
	p.sees(">")
	// ctrl-] within a paste is text.
	p.tmux("set-buffer", "one\ntwo \x1d three é 漢字\n")
	p.tmux("paste-buffer", "-p")
	p.poll(t, "the paste", func() bool { return len(s.term.Inputs()) > 0 })
	in := s.term.Inputs()[0]
	if in.Kind != wire.InputPaste || string(in.Data) != "one\ntwo \x1d three é 漢字\n" {
		t.Errorf("it came as %s %q", in.Kind, in.Data)
	}
	p.presses("Escape")
	p.poll(t, "Escape alone", func() bool { return strings.HasSuffix(string(s.term.Output()), "\x1b") })
	p.presses("C-]")
	p.sees("exit=0")
}

func TestAttachHubAway(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.attach("attach")
	p.output("before ")
	p.types("x")
	p.sees("before x")
	s.stop()
	p.sees("No link from the Hub to the Runner")
	s.Stop()
	p.sees("Hub unreachable since")
	p.types("lost")
	p.sees("before x") // what was there is still to be seen
	s.Restart()
	s.serve(t)
	p.until("the line goes", func(screen string) bool { return strings.TrimSpace(screen) == "before x" })
	p.types("y")
	p.sees("before xy")
	if out := string(s.term.Output()); strings.Contains(out, "lost") {
		t.Errorf("what was typed while the Hub was away arrived: %q", out)
	}
	s.observe(t, claudehub.LinkNone)
	p.sees("The Session is not awake")
	p.presses("C-]")
	p.sees("exit=0")
}

func TestAttachColoursAndWideCharacters(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.attach("attach")
	p.output("\x1b[2J\x1b[H\x1b[38;2;12;34;56;48;5;200mtrue\x1b[0m|漢字|👍🏽|👨‍👩‍👧|e\u0301|\x1b[1;3;4mbold\x1b[0m\r\n" +
		"\x1b]52;c;c3RvbGVu\x07\x1b]2;taken\x07\x1b[6n\x1b[c\x1bP$qm\x1b\\safe")
	p.sees("safe")
	p.sees("漢字|")
	styled := p.tmux("capture-pane", "-p", "-e")
	for _, want := range []string{"38;2;12;34;56", "48;5;200", "bold"} {
		if !strings.Contains(styled, want) {
			t.Errorf("no %q in %q", want, styled)
		}
	}
	if title := p.asks("#{pane_title}"); title != s.sess.Title {
		t.Errorf("the title is %q", title)
	}
	if buffers := p.tmux("list-buffers"); buffers != "" {
		t.Errorf("the Sandbox reached the clipboard: %s", buffers)
	}
	p.types("k")
	p.poll(t, "a key", func() bool { return len(s.term.Inputs()) > 0 })
	if in := s.term.Inputs(); string(in[0].Data) != "k" {
		t.Errorf("an answer was typed: %q", in[0].Data)
	}
	p.until("the echo in its place", func(screen string) bool { return strings.Contains(screen, "\nsafek") })
	p.presses("C-]")
	p.sees("exit=0")
}

func TestAttachSmaller(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 40, 10)
	p.attach("attach")
	p.output("\x1b[2J\x1b[1;1Htop left\x1b[24;60Hbottom right")
	p.sees("bottom right")
	p.sees("The Session is 80×24")
	p.output("\x1b[1;1H")
	p.sees("top left")
	p.tmux("set-option", "-g", "window-size", "manual")
	p.tmux("resize-window", "-x", "100", "-y", "30")
	p.poll(t, "the size follows", func() bool { c, r := s.term.Size(); return c == 100 && r == 30 })
	p.until("all is seen", func(screen string) bool {
		return strings.Contains(screen, "top left") && strings.Contains(screen, "bottom right") && !strings.Contains(screen, "larger")
	})
	p.presses("C-]")
	p.sees("exit=0")
}

func TestAttachKeysAndMouse(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.attach("attach")
	p.output("\x1b[?1h\x1b[?1000h\x1b[?1006hmodes")
	p.sees("modes")
	p.poll(t, "modes", func() bool { return p.asks("#{keypad_cursor_flag}#{mouse_standard_flag}#{mouse_sgr_flag}") == "111" })
	p.presses("Up")
	p.poll(t, "the key as the program asked", func() bool { return strings.HasSuffix(string(s.term.Output()), "\x1bOA") })
	p.output("\x1b[?1l\x1b[?1000l")
	p.poll(t, "modes off", func() bool { return p.asks("#{keypad_cursor_flag}#{mouse_standard_flag}") == "00" })
	p.output("\x1b[?1000h")
	p.poll(t, "modes on", func() bool { return p.asks("#{mouse_standard_flag}") == "1" })
	p.presses("C-]")
	p.sees("exit=0")
	if on := p.asks("#{mouse_any_flag}#{keypad_cursor_flag}"); on != "00" {
		t.Errorf("modes stayed: %s", on)
	}
}

func TestWatch(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 40, 10)
	p.attach("watch")
	p.sees("Watching")
	p.output("\x1b[2J\x1b[1;1Htop left\x1b[24;60Hbottom right")
	p.sees("bottom right")
	for range 20 {
		p.presses("Up")
		p.presses("Left")
	}
	p.sees("top left")
	p.types("x")
	if n := len(s.term.Inputs()); n != 0 {
		t.Errorf("%d inputs of a watcher", n)
	}
	if c, _ := s.term.Size(); c != 0 {
		t.Errorf("a watcher took the size")
	}
	p.types("q")
	p.sees("exit=0")
}

func TestAttachRefused(t *testing.T) {
	s := newStage(t)
	p := s.sitDown(t, 80, 24)
	p.enters("claude-hub sessions attach nothing; echo exit=$?")
	p.sees("exit=4")
	p.sees(`There is no Session with the id or name "nothing"`)
	p.afresh("claude-hub sessions attach " + string(s.sess.ID) + " < /dev/null; echo exit=$?")
	p.sees("exit=2")
	p.sees("needs a terminal")
	p.afresh("claude-hub sessions attach --detach-key ctrl-m " + string(s.sess.ID) + "; echo exit=$?")
	p.sees("cannot be the detach key")
}
