package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/desktop/claude"
)

// The screens were taken from Claude Code 2.1.197 in tmux. A file's name begins with the kind that it must read as.
func TestReadScreen(t *testing.T) {
	files, err := filepath.Glob("testdata/screens/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d screens, %v", len(files), err)
	}
	input := map[string]string{
		"idle_typed": "draft", "idle_pasted": "[Pasted text #1 +30 lines]", "idle_pasted_big": "[Pasted text #1 +2420 lines]",
		"idle_bash_mode": "!", "idle_slash_menu": "/", "idle_restored_prompt": "holdfirst", "busy_typed": "queued one",
	}
	stopped := map[string]bool{"idle_after_interrupt": true, "idle_after_declined_question": true, "idle_pasted": true}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := claude.ReadScreen(string(b))
			kind, _, _ := strings.Cut(name, "_")
			if string(s.Kind) != kind {
				t.Errorf("kind %s", s.Kind)
			}
			if s.AtPrompt != (kind == "idle") || (s.Box && s.InputEmpty != (s.Input == "")) {
				t.Errorf("%+v", s)
			}
			if want := stopped[name]; s.Stopped != want {
				t.Errorf("stopped %v", s.Stopped)
			}
			if want, ok := input[name]; ok && s.Input != want {
				t.Errorf("input %q, want %q", s.Input, want)
			} else if !ok && name != "idle_wrapped" && s.Input != "" {
				t.Errorf("input %q", s.Input)
			}
			if name == "idle_wrapped" && (!strings.HasPrefix(s.Input, "A long line") || s.InputEmpty) {
				t.Errorf("input %q", s.Input)
			}
		})
	}
}

func FuzzReadScreen(f *testing.F) {
	f.Add("────────────────\n❯ x\n────────────────\n")
	f.Add("❯ 1. Yes\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := claude.ReadScreen(text)
		if s.Stopped && !s.AtPrompt {
			t.Error("stopped and not at the prompt")
		}
		if s.AtPrompt && !s.Box {
			t.Error("at the prompt without an input box")
		}
		if s.InputEmpty && (!s.Box || s.Input != "") {
			t.Errorf("%+v", s)
		}
	})
}
