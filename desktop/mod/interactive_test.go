package mod_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/desktop/claude/claudetest"
	"claude-hub/desktop/mod"
	"claude-hub/internal/standin/anthropic"
)

// seat is the real Claude Code, interactive, in a real tmux, with the plugin and the stand-in.
type seat struct {
	t      *testing.T
	socket string
	spool  mod.Spool
	server *anthropic.Server
	seen   []mod.Event
}

func sit(t *testing.T, script string) *seat {
	t.Helper()
	parsed, err := anthropic.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := anthropic.New(anthropic.Options{Script: parsed, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	dir, err := os.MkdirTemp("", "seat") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Log(err)
		}
	})
	s := &seat{t: t, socket: filepath.Join(dir, "tmux"), spool: mod.Spool{Dir: filepath.Join(dir, "spool")}, server: server}
	config, work := filepath.Join(dir, "config"), filepath.Join(dir, "work")
	for _, d := range []string{s.spool.Dir, config, work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := claude.WriteSeed(config, claude.Seed{Workspace: work}); err != nil {
		t.Fatal(err)
	}
	secret, err := claude.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	plugins, _ := installed(t)
	argv, env := claude.Launch{
		Program: claudetest.Program(t), SessionID: "0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f9abc", Plugins: []string{filepath.Join(plugins, mod.Name)},
		ConfigDir: config, SpoolDir: s.spool.Dir, Token: secret, BaseURL: h.URL,
		Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color"},
	}.Command()
	args := slices.Concat([]string{"-f", "/dev/null", "-S", s.socket, "new-session", "-d", "-x", "100", "-y", "30", "-c", work, "--"}, argv,
		[]string{";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "focus-events", "on"})
	cmd := exec.CommandContext(t.Context(), "tmux", args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() // it may have ended
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

func (s *seat) tmux(stdin string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out)
}

func (s *seat) screen() claude.Screen { return claude.ReadScreen(s.tmux("", "capture-pane", "-p")) }

// ended tells that Claude's process is gone, or waits to be noticed by tmux.
func (s *seat) ended() bool {
	pid := strings.TrimSpace(s.tmux("", "display-message", "-p", "#{pane_pid}"))
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}

func (s *seat) until(what string, f func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !f(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited for %s\n%s\n%q", what, s.tmux("", "capture-pane", "-p"), names(s.seen))
		}
	}
}

// event waits for the next report of a name, and takes all before it.
func (s *seat) event(name string) mod.Event {
	s.t.Helper()
	var found mod.Event
	s.until(name, func() bool {
		e, ok, err := s.spool.Next(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if !ok {
			return false
		}
		if err := s.spool.Remove(s.t.Context(), e); err != nil {
			s.t.Fatal(err)
		}
		s.seen = append(s.seen, e)
		found = e
		return e.Name == name
	})
	return found
}

// say pastes a prompt as the Runner does: text, then Enter once the box shows it, and again while it still does.
func (s *seat) say(text string) mod.Event {
	s.t.Helper()
	s.until("an empty box", func() bool { x := s.screen(); return x.AtPrompt && x.InputEmpty })
	s.tmux(text, "load-buffer", "-b", "p", "-")
	s.tmux("", "paste-buffer", "-d", "-p", "-r", "-b", "p")
	s.until("the paste", func() bool { x := s.screen(); return x.Box && !x.InputEmpty })
	next := time.Time{}
	s.until("the prompt's report", func() bool {
		if _, ok, _ := s.spool.Next(s.t.Context()); ok {
			return true
		}
		if time.Now().After(next) && !s.screen().InputEmpty {
			s.tmux("", "send-keys", "Enter")
			next = time.Now().Add(2 * time.Second)
		}
		return false
	})
	e := s.event("UserPromptSubmit")
	if e.Prompt != strings.TrimSpace(text) {
		s.t.Errorf("a prompt of %d bytes came as %d", len(text), len(e.Prompt))
	}
	return e
}

func (s *seat) kind(want claude.ScreenKind) {
	s.t.Helper()
	s.until("a screen that is "+string(want), func() bool { return s.screen().Kind == want })
}

// What the package doc says of Turns, errors, interrupts and questions, seen in an interactive Claude Code.
func TestRealInteractive(t *testing.T) {
	s := sit(t, `{"rules":[
		{"contains":"limit","steps":[{"error":429}]},
		{"contains":"hold","steps":[{"say":"Holding on.\n\n"},{"hang":"gate"},{"say":"Done."}]},
		{"contains":"ask me","steps":[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,
			"options":[{"label":"Red","description":"r"},{"label":"Blue","description":"b"}]}]}},{"say":"You chose."}]}]}`)
	if e := s.event("SessionStart"); e.Source != "startup" {
		t.Errorf("%+v", e)
	}
	long := strings.Repeat("a line of 한글 and 🙂\n", 700) + "end"
	s.say(long)
	s.event("Stop")
	s.kind(claude.ScreenIdle)

	s.say("limit")
	if e := s.event("StopFailure"); e.Message != "rate_limit" {
		t.Errorf("%+v", e)
	}
	s.kind(claude.ScreenIdle)

	s.say("hold")
	s.kind(claude.ScreenBusy)
	s.until("the text", func() bool { return strings.Contains(s.tmux("", "capture-pane", "-p"), "Holding on") })
	s.tmux("", "send-keys", "Escape")
	s.kind(claude.ScreenIdle)

	s.say("ask me")
	if e := s.event("PreToolUse"); e.Tool != "AskUserQuestion" || e.Message != "Which colour?" {
		t.Errorf("%+v", e)
	}
	if e := s.event("PermissionRequest"); e.Tool != "AskUserQuestion" {
		t.Errorf("%+v", e)
	}
	s.kind(claude.ScreenAsking)
	s.tmux("", "send-keys", "Escape")
	s.kind(claude.ScreenIdle)

	s.tmux("/exit", "load-buffer", "-b", "p", "-")
	s.tmux("", "paste-buffer", "-d", "-p", "-b", "p")
	s.until("the command", func() bool { return !s.screen().InputEmpty })
	s.tmux("", "send-keys", "Enter")
	if e := s.event("SessionEnd"); e.Reason != "prompt_input_exit" {
		t.Errorf("%+v", e)
	}
	// tmux 3.3a may never notice: the kernel is asked.
	s.until("Claude's end", s.ended)
	// Neither the interrupt nor the declined question was reported in any way.
	want := []string{"SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit", "StopFailure", "UserPromptSubmit", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "SessionEnd"}
	if got := names(s.seen); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, p := range s.server.Log().Prompts {
		if p.Occurrences != 1 {
			t.Errorf("sent %d times: %q", p.Occurrences, p.Text)
		}
	}
}
