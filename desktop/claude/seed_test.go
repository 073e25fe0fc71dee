package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"claude-hub/desktop/claude"
)

var seed = claude.Seed{Workspace: "/workspace"}

func readJSON(t *testing.T, path string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSeedFreshAndTwice(t *testing.T) {
	dir := t.TempDir()
	if _, err := claude.WriteSeed(dir, seed); err != nil {
		t.Fatal(err)
	}
	global, settings := readJSON(t, dir+"/.claude.json"), readJSON(t, dir+"/settings.json")
	if global["hasCompletedOnboarding"] != true || global["theme"] != "dark" || settings["skipDangerousModePermissionPrompt"] != true || settings["tui"] != "default" {
		t.Errorf("%v %v", global, settings)
	}
	project := global["projects"].(map[string]any)["/workspace"].(map[string]any)
	if project["hasTrustDialogAccepted"] != true {
		t.Errorf("%v", project)
	}
	before, _ := os.Stat(dir + "/.claude.json")
	if _, err := claude.WriteSeed(dir, seed); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(dir + "/.claude.json"); !os.SameFile(before, after) {
		t.Error("written again although nothing was missing")
	}
}

func TestSeedKeepsWhatThePersonChanged(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/.claude.json", `{"theme":"light","numStartups":12345678901234567890,"projects":{"/other":{"x":1},"/workspace":{"mine":[1,2]}}}`)
	put(t, dir+"/settings.json", `{"tui":"fullscreen","skipDangerousModePermissionPrompt":false,"model":"opus"}`)
	if s, err := claude.WriteSeed(dir, seed); err != nil || len(s.Broken) != 0 {
		t.Fatal(s, err)
	}
	b, _ := os.ReadFile(dir + "/.claude.json")
	for _, want := range []string{`"light"`, "12345678901234567890", `"/other"`, `"mine"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is gone:\n%s", want, b)
		}
	}
	settings := readJSON(t, dir+"/settings.json")
	if settings["tui"] != "fullscreen" || settings["model"] != "opus" || settings["skipDangerousModePermissionPrompt"] != true {
		t.Errorf("%v", settings)
	}
}

func TestSeedMendsBrokenFiles(t *testing.T) {
	for _, text := range []string{"", `{"hasCompl`, "[]", "null", "\x00\x00\x00", `{} {}`, `{"projects":3}`} {
		dir := t.TempDir()
		put(t, dir+"/.claude.json", text)
		s, err := claude.WriteSeed(dir, seed)
		if err != nil {
			t.Fatal(err)
		}
		if readJSON(t, dir+"/.claude.json")["hasCompletedOnboarding"] != true {
			t.Errorf("%q: not seeded", text)
		}
		if text == `{"projects":3}` {
			continue // an object all the same
		}
		kept, err := os.ReadFile(dir + "/.claude.json.broken-1")
		if err != nil || string(kept) != text || !slices.Equal(s.Broken, []string{".claude.json"}) {
			t.Errorf("%q: kept %q, %v, %v", text, kept, s.Broken, err)
		}
	}
}

// What the Sandbox may plant must not make this machine read or write anything outside, or wait.
func TestSeedAmongTraps(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, "precious")
	for name, plant := range map[string]func(path string) error{
		"link":     func(p string) error { return os.Symlink(outside, p) },
		"dangling": func(p string) error { return os.Symlink(filepath.Join(filepath.Dir(outside), "new"), p) },
		"pipe":     func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder":   func(p string) error { return os.MkdirAll(p+"/deep", 0o700) },
		"huge": func(p string) error {
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(p, 10<<30)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"/.claude.json", "/settings.json"} {
				if err := plant(dir + file); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := claude.WriteSeed(dir, seed); err != nil {
				t.Fatal(err)
			}
			if readJSON(t, dir+"/.claude.json")["hasCompletedOnboarding"] != true {
				t.Error("not seeded")
			}
			if info, err := os.Lstat(dir + "/.claude.json"); err != nil || !info.Mode().IsRegular() {
				t.Error(info, err)
			}
			if b, _ := os.ReadFile(outside); string(b) != "precious" {
				t.Errorf("outside is %q", b)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(outside), "new")); err == nil {
				t.Error("a file was made outside")
			}
		})
	}
}

func TestSeedSaysWhatToDo(t *testing.T) {
	if _, err := claude.WriteSeed(filepath.Join(t.TempDir(), "none"), seed); err == nil || !strings.Contains(err.Error(), "could not be written") {
		t.Error(err)
	}
}
