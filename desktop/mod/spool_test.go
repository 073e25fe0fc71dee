package mod_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/mod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func name(n int, event string) string { return fmt.Sprintf("1795970000%09d-12-%s.json", n, event) }

// drain takes everything that waits.
func drain(t *testing.T, s mod.Spool) []mod.Event {
	t.Helper()
	var all []mod.Event
	for {
		e, ok, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		if err := s.Remove(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func TestSpoolInOrderUntilRemoved(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	put(t, filepath.Join(s.Dir, name(2, "Stop")), `{"session_id":"x","last_assistant_message":"done ✓"}`)
	put(t, filepath.Join(s.Dir, name(1, "UserPromptSubmit")), `{"prompt":"hello","prompt_id":"p"}`)
	for range 2 {
		e, ok, err := s.Next(t.Context())
		if err != nil || !ok || e.Name != "UserPromptSubmit" || e.Prompt != "hello" || e.PromptID != "p" || e.Key != name(1, "UserPromptSubmit") {
			t.Fatalf("%+v %v %v", e, ok, err)
		}
	}
	all := drain(t, s)
	if len(all) != 2 || all[1].Name != "Stop" || all[1].LastAssistantMessage != "done ✓" || time.Since(all[1].At) > time.Minute {
		t.Errorf("%+v", all)
	}
	if err := s.Remove(t.Context(), all[0]); err != nil {
		t.Error(err)
	}
	if err := s.Remove(t.Context(), mod.Event{Key: "../x"}); err == nil {
		t.Error("a path was taken for a key")
	}
}

func TestEventFields(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	for i, c := range []struct{ event, json string }{
		{"PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"ls","description":"List"},"tool_use_id":"u"}`},
		{"PreToolUse", `{"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?"}]}}`},
		{"PreToolUse", `{"tool_name":"Odd","tool_input":[1]}`},
		{"Notification", `{"message":"Claude needs your permission","notification_type":"permission_prompt"}`},
		{"StopFailure", `{"error":"rate_limit","last_assistant_message":"API Error"}`},
		{"SessionStart", `{"source":"resume"}`},
		{"SessionEnd", `{"reason":"other"}`},
		{"PreCompact", `{"trigger":"manual"}`},
	} {
		put(t, filepath.Join(s.Dir, name(i, c.event)), c.json)
	}
	e := drain(t, s)
	if len(e) != 8 {
		t.Fatalf("%+v", e)
	}
	if e[0].Message != "List" || e[0].Tool != "Bash" || e[0].ToolUseID != "u" || e[1].Message != "Which?" || e[2].Tool != "Odd" || e[2].Message != "" ||
		e[3].Kind != "permission_prompt" || e[4].Message != "rate_limit" || e[5].Source != "resume" || e[6].Reason != "other" || e[7].Source != "manual" {
		t.Errorf("%+v", e)
	}
}

// Whatever a Sandbox puts there, real reports come through, and nothing outside is read or removed.
func TestSpoolAmongTraps(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, `{"prompt":"secret of the host"}`)
	at := func(n int) string { return filepath.Join(s.Dir, name(n, "Stop")) }
	for _, err := range []error{
		os.Symlink(outside, at(1)),
		syscall.Mkfifo(at(2), 0o600),
		os.MkdirAll(at(3)+"/deep/er", 0o700),
		os.WriteFile(at(4), []byte(`{"prompt":`), 0o600),
		os.WriteFile(at(5), nil, 0o600),
		os.WriteFile(at(6), []byte(strings.Repeat("[", 100000)), 0o600),
		os.WriteFile(at(7), []byte(`{}`), 0o000),
		os.WriteFile(filepath.Join(s.Dir, "junk"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(s.Dir, ".new-1-1"), []byte("being written"), 0o600),
		os.WriteFile(at(8), []byte(`{"last_assistant_message":"real"}`), 0o600),
		os.Chtimes(at(8), time.Now().Add(1000*time.Hour), time.Now().Add(1000*time.Hour)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := drain(t, s)
	var real []mod.Event
	for _, e := range all {
		if strings.Contains(e.Prompt, "secret") {
			t.Errorf("read outside: %+v", e)
		}
		if e.LastAssistantMessage == "real" {
			real = append(real, e)
		}
	}
	if len(real) != 1 || time.Until(real[0].At) > time.Minute {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(s.Dir)
	if len(left) != 1 || left[0].Name() != ".new-1-1" {
		t.Errorf("left: %v", left)
	}
}

func TestSpoolBoundsSizes(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	prompt, _ := json.Marshal(strings.Repeat("ü", 2_500_000))
	put(t, filepath.Join(s.Dir, name(1, "UserPromptSubmit")), `{"prompt":`+string(prompt)+`}`)
	put(t, filepath.Join(s.Dir, name(2, "Stop")), `{"last_assistant_message":"`+strings.Repeat("é", 70_000)+`"}`)
	put(t, filepath.Join(s.Dir, name(3, "PostToolUse")), "")
	if err := os.Truncate(filepath.Join(s.Dir, name(3, "PostToolUse")), 1<<30); err != nil {
		t.Fatal(err)
	}
	e := drain(t, s)
	if len(e) != 3 || len(e[0].Prompt) != 5_000_000 || e[0].Truncated {
		t.Fatalf("%d events, %d bytes of prompt", len(e), len(e[0].Prompt))
	}
	if !e[1].Truncated || len(e[1].LastAssistantMessage) > 64<<10 || strings.Contains(e[1].LastAssistantMessage, "\ufffd") {
		t.Errorf("%d bytes, truncated %v", len(e[1].LastAssistantMessage), e[1].Truncated)
	}
	if !e[2].Truncated || e[2].Name != "PostToolUse" {
		t.Errorf("%+v", e[2])
	}
}

func TestWait(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Wait(ctx) }()
	put(t, filepath.Join(s.Dir, ".new-1"), "{}")
	if err := os.Rename(filepath.Join(s.Dir, ".new-1"), filepath.Join(s.Dir, name(1, "Stop"))); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx); err != nil { // it still waits
		t.Fatal(err)
	}
	drain(t, s)
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := s.Wait(stopped); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A folder that was not there when the wait began is found by the poll.
	later := mod.Spool{Dir: filepath.Join(t.TempDir(), "later")}
	go func() { done <- later.Wait(ctx) }()
	if err := os.Mkdir(later.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(later.Dir, name(1, "Stop")), "{}")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestSpoolShutOut(t *testing.T) {
	s := mod.Spool{Dir: t.TempDir()}
	put(t, filepath.Join(s.Dir, name(1, "Stop")), "{}")
	if err := os.Chmod(s.Dir, 0); err != nil {
		t.Fatal(err)
	}
	if e := drain(t, s); len(e) != 1 {
		t.Errorf("%+v", e)
	}
	if _, _, err := (mod.Spool{Dir: "/nonexistent"}).Next(t.Context()); err == nil {
		t.Error("no error")
	}
}

// installed returns the hook's script as it is mounted.
func installed(t *testing.T) (dir, script string) {
	t.Helper()
	dir = t.TempDir()
	if err := mod.Install(dir); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, mod.Name, "hooks", "report.sh")
}

func TestInstallTwiceAndOverAnOldOne(t *testing.T) {
	dir, script := installed(t)
	before, err := os.Stat(script)
	if err != nil || before.Mode() != 0o444 {
		t.Fatal(before, err)
	}
	if err := mod.Install(dir); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(script); !os.SameFile(before, after) {
		t.Error("written again although it was right")
	}
	if err := errors.Join(os.Chmod(script, 0o644), os.WriteFile(script, []byte("old"), 0o644), os.MkdirAll(filepath.Join(dir, mod.Name, "commands"), 0o755)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, mod.Name, "commands", "old.md"), "x")
	if err := mod.Install(dir); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(script); !strings.HasPrefix(string(b), "#!/bin/sh") {
		t.Errorf("%q", b)
	}
	if _, err := os.Stat(filepath.Join(dir, mod.Name, "commands")); err == nil {
		t.Error("the old version's folder is still there")
	}
	if err := mod.Install("/proc/none"); err == nil || !strings.Contains(err.Error(), "could not be written") {
		t.Error(err)
	}
}

// hook runs the script as Claude Code does.
func hook(t *testing.T, script, dir, event, input string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", script, event)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if dir != "" {
		cmd.Env = append(cmd.Env, "CLAUDE_HUB_REPORT="+dir)
	}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestHookScript(t *testing.T) {
	_, script := installed(t)
	s := mod.Spool{Dir: filepath.Join(t.TempDir(), "with space")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	big, _ := json.Marshal(strings.Repeat("x", 3<<20))
	for i := range 5 {
		if out, err := hook(t, script, s.Dir, "UserPromptSubmit", fmt.Sprintf(`{"prompt":"%d","pad":%s}`, i, big)); err != nil || out != "" {
			t.Fatalf("%q %v", out, err)
		}
	}
	e := drain(t, s)
	if len(e) != 5 {
		t.Fatalf("%d events", len(e))
	}
	for i := range e {
		if e[i].Prompt != fmt.Sprint(i) || e[i].Name != "UserPromptSubmit" {
			t.Errorf("%d: %+v", i, e[i])
		}
	}
	if left, _ := os.ReadDir(s.Dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	// No folder, no variable, a file in its place, a full disk: the hook is silent and succeeds.
	for _, dir := range []string{"/nonexistent", "", script, "/dev/full"} {
		if out, err := hook(t, script, dir, "Stop", `{"x":`+string(big)+`}`); err != nil || out != "" {
			t.Errorf("%q: %q %v", dir, out, err)
		}
	}
}

// A write that fails half way leaves nothing. A limit on file sizes stands for the full disk.
func TestHookCannotWriteAll(t *testing.T) {
	_, script := installed(t)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 8; exec sh "$0" Stop`, script)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "CLAUDE_HUB_REPORT=" + dir}
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%q %v", out, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"prompt":"x","tool_input":{"questions":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := mod.Spool{Dir: t.TempDir()}
		put(t, filepath.Join(s.Dir, name(1, "Stop")), string(b))
		e, ok, err := s.Next(t.Context())
		if err != nil || ok != json.Valid(b) && ok {
			t.Errorf("%+v %v %v", e, ok, err)
		}
		if len(e.Message) > 500 {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	})
}
