package runner

import (
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/mod"
	"claude-hub/internal/claudehub"
)

// TestActivityFollowsReports plays reports as real Claude Code 2.1.197 gave them.
func TestActivityFollowsReports(t *testing.T) {
	at := time.Now()
	prompt := mod.Event{Name: "UserPromptSubmit", Prompt: "hello", At: at}
	bash := mod.Event{Name: "PreToolUse", Tool: "Bash", Message: "go test ./..."}
	question := mod.Event{Name: "PreToolUse", Tool: "AskUserQuestion", Message: "Which bucket?"}
	for name, c := range map[string]struct {
		events []mod.Event
		is     claudehub.Activity
		doing  string
		ended  bool
	}{
		"prompt":    {[]mod.Event{prompt}, claudehub.Busy, "Thinking", false},
		"tool":      {[]mod.Event{prompt, bash}, claudehub.Busy, "Bash: go test ./...", false},
		"tool over": {[]mod.Event{prompt, bash, {Name: "PostToolUse", Tool: "Bash"}}, claudehub.Busy, "Thinking", false},
		"question":  {[]mod.Event{prompt, question}, claudehub.NeedsYou, "Which bucket?", false},
		"question, and its notification": {
			[]mod.Event{prompt, question, {Name: "Notification", Kind: "permission_prompt", Message: "Claude needs your permission"}},
			claudehub.NeedsYou, "Which bucket?", false,
		},
		"permission": {[]mod.Event{prompt, {Name: "Notification", Kind: "permission_prompt", Message: "Needs you"}}, claudehub.NeedsYou, "Needs you", false},
		"answered":   {[]mod.Event{prompt, question, {Name: "PostToolUse", Tool: "AskUserQuestion"}}, claudehub.Busy, "Thinking", false},
		"stop":       {[]mod.Event{prompt, {Name: "Stop", LastAssistantMessage: "Done.\nAll of it."}}, claudehub.Ready, "Done. All of it.", true},
		"stop, and an idle minute": {
			[]mod.Event{prompt, {Name: "Stop", LastAssistantMessage: "Done."}, {Name: "Notification", Kind: "idle_prompt", Message: "Claude is waiting for your input"}},
			claudehub.Ready, "Done.", false,
		},
		"failure":       {[]mod.Event{prompt, {Name: "StopFailure", Message: "rate_limit", LastAssistantMessage: "Slow down"}}, claudehub.Ready, "Ended with an error: rate_limit. Slow down", true},
		"stop unbegun":  {[]mod.Event{{Name: "Stop", LastAssistantMessage: "x"}}, claudehub.Ready, "x", false},
		"unknown event": {[]mod.Event{prompt, {Name: "OfTheFuture"}}, claudehub.Busy, "Thinking", false},
	} {
		var a activity
		var last outcome
		for _, e := range c.events {
			last = a.report(e)
		}
		if a.is != c.is || a.doing != c.doing || last.ended != c.ended {
			t.Errorf("%s: %s %q, ended %t", name, a.is, a.doing, last.ended)
		}
	}
}

func TestScreenEndsATurnThatNoReportEnded(t *testing.T) {
	a := activity{}
	a.report(mod.Event{Name: "UserPromptSubmit", At: time.Now()})
	if got := a.screenIdle(); !got.ended || a.is != claudehub.Ready || a.doing != "Interrupted" {
		t.Errorf("%+v %+v", got, a)
	}
	if got := a.screenIdle(); got.ended {
		t.Error("a Turn ended twice")
	}
}

// FuzzOneLine: whatever a Sandbox says is shown as one bounded line of printable text.
func FuzzOneLine(f *testing.F) {
	f.Add("Bash: go test ./...")
	f.Add("t :")
	f.Add("\x1b[2J\x00 bell\a \u202e turned 한글 🙂 \xff\xfe" + strings.Repeat("long ", 300))
	f.Fuzz(func(t *testing.T, s string) {
		got := oneLine(s)
		if len([]rune(got)) > maxDoing || strings.ContainsAny(got, "\n\r\x00\x1b\a\u202e") || strings.TrimSpace(got) != got {
			t.Errorf("%q became %q", s, got)
		}
	})
}
