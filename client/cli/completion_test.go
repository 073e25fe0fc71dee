package cli_test

import (
	"os/exec"
	"strings"
	"testing"

	"claude-hub/client"
)

func (s *stage) complete(t testing.TB, words ...string) string {
	t.Helper()
	return s.ok(t, "", append([]string{"__complete", "--"}, words...)...).out
}

func TestComplete(t *testing.T) {
	s := newStage(t)
	made := decode[client.Session](t, s.ok(t, "", "sessions", "new", "--json", "--title", "Mend the 漢字 roof").out)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"sess"}, "sessions\tYour Sessions.\n"},
		{[]string{"sessions", "arch"}, "archive\tPut a Session away. Everything is kept.\n"},
		{[]string{"sessions", "sleep", string(made.ID[:30])}, string(made.ID) + "\tMend the 漢字 roof\n"},
		{[]string{"sessions", "sleep", "--json", "Mend"}, "Mend the 漢字 roof\t" + string(made.ID) + "\n"},
		{[]string{"sessions", "unarchive", "Mend"}, ""},
		{[]string{"sessions", "sleep", string(made.ID), "Mend"}, ""},
		{[]string{"sessions", "new", "--runner", "bo"}, "box\t" + string(s.runner.ID) + "\n"},
		{[]string{"sessions", "new", "--model=op"}, "--model=opus\t\n"},
		{[]string{"sessions", "new", "--effort", "xh"}, "xhigh\t\n"},
		{[]string{"sessions", "list", "--arch"}, "--archived\tList those that were put away.\n"},
		{[]string{"completion", "f"}, "fish\t\n"},
		{[]string{"nothing", "like", "this"}, ""},
		{[]string{"__"}, ""},
	} {
		if got := s.complete(t, c.words...); got != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
	if got := s.complete(t, "sessions", ""); !strings.Contains(got, "attach\t") || strings.Contains(got, "--") {
		t.Errorf("verbs are %q", got)
	}
	s.Stop()
	if got := s.complete(t, "sessions", "sleep", "Mend"); got != "" {
		t.Errorf("without a Hub: %q", got)
	}
}

// TestCompletionInShells presses Tab in the real shells.
func TestCompletionInShells(t *testing.T) {
	for shell, start := range map[string]string{
		"bash": "bash --norc --noprofile", "zsh": "zsh -f", "fish": "fish --no-config",
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Fatal(err)
			}
			s := newStage(t)
			made := decode[client.Session](t, s.ok(t, "", "sessions", "new", "--json", "--title", "Mend the roof").out)
			id := string(made.ID)
			p := s.sitDown(t, 120, 30)
			p.enters("PS1='here> ' exec " + start)
			load := "source <(claude-hub completion " + shell + ") && clear && echo loaded"
			if shell == "fish" {
				load = "function fish_prompt; echo 'here> '; end; claude-hub completion fish | source; clear; echo loaded"
			}
			p.sees("here>")
			p.enters(load)
			p.until("loaded", func(screen string) bool { return strings.HasPrefix(strings.TrimSpace(screen), "loaded") })
			press := func(typed, want string) {
				t.Helper()
				p.types(typed)
				p.presses("Tab")
				p.sees(want)
				p.presses("C-u")
				p.until("an empty line", func(screen string) bool { return strings.HasSuffix(strings.TrimSpace(screen), "here>") })
			}
			press("claude-hub sess", "claude-hub sessions")
			press("claude-hub sessions archive "+id[:len(id)-3], "archive "+id)
			press("claude-hub sessions archive Mend", `archive Mend\ the\ roof`)
		})
	}
}
