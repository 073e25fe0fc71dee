//go:build linux

package promises_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"claude-hub/desktop/runner"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
)

// inSandbox runs a shell command beside Claude and returns what it printed.
func (s *scene) inSandbox(t *testing.T, script string) []byte {
	t.Helper()
	dir, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	backend, err := bubblewrap.New(bubblewrap.Options{State: runner.SandboxDir(s.RunnerDir()), Guest: filepath.Join(dir, "claude-hub-guest")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := backend.Exec(t.Context(), sandbox.ID(s.session), sandbox.Command{Path: "sh", Args: []string{"-c", script}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_ = p.Stdin().Close()
	go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }() // ends with the process
	b, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// variables are the names of all environment variables of all processes in a Sandbox in which Claude rests.
var variables = []string{
	"ANTHROPIC_BASE_URL", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", // where the Runner's owner gave another address
	"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_HUB_REPORT", "DISABLE_AUTOUPDATER", "DISABLE_INSTALLATION_CHECKS",
	"HOME", "IS_SANDBOX", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMPDIR", "USER",
}

// mounts are all places at which something of the machine, or something private, stands in a Sandbox. What is below
// /dev, /proc and /etc is by name there.
var mounts = []string{
	"/", "/.claude-hub/guest", "/claude", "/home/claude", "/opt/claude-hub/claude/claude", "/opt/claude-hub/mod", "/opt/claude-hub/report",
	"/run", "/tmp", "/usr", "/var/tmp", "/workspace",
}

// TestWhatIsInASandbox is promise 3: of our credentials a Sandbox has the setup token, in the environment of processes,
// and no other; and it sees nothing of the machine but what is named here.
func TestWhatIsInASandbox(t *testing.T) {
	s := theScene(t)
	t.Run("environment", func(t *testing.T) {
		environ := s.inSandbox(t, "cat /proc/[0-9]*/environ")
		var names []string
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if name, _, ok := strings.Cut(v, "="); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, variables) {
			t.Errorf("the variables are\n%v, want\n%v", names, variables)
		}
		if found := find(environ, s.Secrets()); !slices.Equal(found, []string{"setup token"}) {
			t.Errorf("the environments have %v", found)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		lines := s.inSandbox(t, "cat /proc/[0-9]*/cmdline")
		if found := find(lines, s.Secrets()); len(found) > 0 {
			t.Errorf("arguments have %v", found)
		}
		if !bytes.Contains(lines, []byte("--dangerously-skip-permissions")) {
			t.Errorf("Claude is not seen: %q", lines)
		}
		if bytes.Contains(lines, []byte("claude-hub-runner")) {
			t.Error("the Runner is seen")
		}
	})
	t.Run("mounts", func(t *testing.T) {
		var seen []string
		for line := range strings.Lines(string(s.inSandbox(t, "cat /proc/self/mountinfo"))) {
			at := strings.Fields(line)[4]
			below := func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }
			if below("/proc") || below("/dev") || below("/etc") || slices.Contains([]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}, at) {
				continue
			}
			if !slices.Contains(seen, at) {
				seen = append(seen, at)
			}
		}
		slices.Sort(seen)
		if !slices.Equal(seen, mounts) {
			t.Errorf("there are\n%v, want\n%v", seen, mounts)
		}
	})
	t.Run("files", s.filesInSandbox)
}

func (s *scene) filesInSandbox(t *testing.T) {
	archive := tar.NewReader(bytes.NewReader(s.inSandbox(t,
		"tar -cf - --ignore-failed-read --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./usr --exclude=./opt/claude-hub/claude --exclude=./.claude-hub -C / . || true")))
	files, transcript := 0, false
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files++
		if found := find(b, s.Secrets()); len(found) > 0 {
			t.Errorf("%s has %v", h.Name, found)
		}
		transcript = transcript || bytes.Contains(b, []byte("And a second prompt."))
		top := strings.Split(strings.TrimPrefix(h.Name, "./"), "/")[0]
		if !slices.Contains([]string{"", "bin", "claude", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt", "run", "sbin", "tmp", "var", "workspace"}, top) {
			t.Errorf("there is /%s", h.Name[2:])
		}
	}
	if !transcript {
		t.Errorf("the conversation is not among %d files: the search does not see", files)
	}
}
