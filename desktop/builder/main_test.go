//go:build linux

package builder_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// guest is the real guest program, and root a small root filesystem of this machine's own programs.
var guest, root string

func TestMain(m *testing.M) {
	if dir := os.Getenv("HUB_TEST_RUNNER"); dir != "" {
		os.Exit(runner(dir))
	}
	dir, err := os.MkdirTemp("", "hub-builder-")
	if err != nil {
		panic(err)
	}
	guest, root = filepath.Join(dir, "claude-hub-guest"), filepath.Join(dir, "root")
	build := exec.Command("go", "build", "-o", guest, "claude-hub/desktop/cmd/claude-hub-guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build guest: %v\n%s", err, out))
	}
	if err := makeRoot(root, append(plain, "tmux", "git")...); err != nil {
		panic(err)
	}
	if err := addTools(root); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// plain are the programs that a root filesystem has at the least.
var plain = []string{"bash", "cat", "chmod", "chown", "cp", "dd", "env", "head", "id", "ls", "mkdir", "mv", "rm", "sleep", "stat", "touch", "true", "yes"}

// makeRoot makes a root filesystem of programs of this machine, with the libraries they need.
func makeRoot(root string, programs ...string) error {
	for _, dir := range []string{"bin", "etc/ssl/certs", "usr/bin", "root", "tmp", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := copyProgram(root, path, "usr/bin/"+name); err != nil {
			return err
		}
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		return err
	}
	return copyProgram(root, sh, "bin/sh")
}

func copyProgram(root, path, as string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := copyFile(real, filepath.Join(root, as)); err != nil {
		return err
	}
	out, err := exec.Command("ldd", real).Output()
	if err != nil {
		return nil // a static program
	}
	for line := range strings.Lines(string(out)) {
		for word := range strings.FieldsSeq(line) {
			if !strings.HasPrefix(word, "/") {
				continue
			}
			to := filepath.Join(root, word)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := copyFile(word, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
}

// addTools adds what this machine may not have: GitHub's program, whose place a script takes, and certificates.
func addTools(root string) error {
	if err := os.WriteFile(filepath.Join(root, "usr/bin/gh"), []byte("#!/bin/sh\necho gh version 0.0.0\n"), 0o755); err != nil {
		return err
	}
	// tmux wants a character set.
	if err := os.CopyFS(filepath.Join(root, "usr/lib/locale/C.utf8"), os.DirFS("/usr/lib/locale/C.utf8")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"), []byte("certificates\n"), 0o644)
}
