//go:build linux

package runner

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// rootPrograms are what the tests' root filesystem has.
var rootPrograms = []string{
	"bash", "cat", "chmod", "cp", "date", "dd", "env", "grep", "head", "id", "kill", "ls", "mkdir", "mv", "rm", "sed", "sleep", "stat", "touch",
	"tr", "true", "yes", "tmux", "git",
}

// rootfs makes, once, a small root filesystem of this machine's own programs, with the libraries that they need.
var rootfs = sync.OnceValues(func() (string, error) {
	root, err := os.MkdirTemp("", "rootfs")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, root)
	if err := os.Chmod(root, 0o755); err != nil {
		return "", err
	}
	for _, dir := range []string{"bin", "etc/ssl/certs", "root", "tmp", "var/lib", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	for _, name := range rootPrograms {
		path, err := exec.LookPath(name)
		if err == nil {
			err = copyProgram(root, path, "usr/bin/"+name)
		}
		if err != nil {
			return "", err
		}
	}
	return root, errors.Join(
		copyProgram(root, "/bin/sh", "bin/sh"),
		// GitHub's program, whose place a script takes; and what tmux wants, a character set.
		os.WriteFile(filepath.Join(root, "usr/bin/gh"), []byte("#!/bin/sh\necho gh version 0.0.0\n"), 0o755),
		os.CopyFS(filepath.Join(root, "usr/lib/locale/C.utf8"), os.DirFS("/usr/lib/locale/C.utf8")),
		os.WriteFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"), []byte("certificates\n"), 0o644),
	)
})

func copyProgram(root, path, as string) error {
	program, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := copyFile(program, filepath.Join(root, as)); err != nil {
		return err
	}
	libraries, _ := exec.Command("ldd", program).Output() // a static one has none
	for line := range strings.Lines(string(libraries)) {
		for word := range strings.FieldsSeq(line) {
			if filepath.IsAbs(word) {
				err = errors.Join(err, copyFile(word, filepath.Join(root, word)))
			}
		}
	}
	return err
}

func copyFile(from, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
}
