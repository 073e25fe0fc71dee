package mod

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"claude-hub/internal/claudehub"
)

//go:embed all:plugin
var plugin embed.FS

// Name is the plugin's folder in what Install writes.
const Name = "hub-report"

// Install writes the plugin into a folder of the host, which is then mounted read-only. It may run while Sandboxes have
// the folder mounted: a file is exchanged whole, and one that is right already is left alone.
func Install(dir string) error {
	if err := install(dir); err != nil {
		what := "Check that it belongs to the user who runs the Runner."
		if errors.Is(err, syscall.ENOSPC) {
			what = "The disk is full; free some space."
		}
		return claudehub.WithCause(claudehub.Unavailable, err, "The plugin that reports from Sandboxes could not be written to %s. %s", dir, what)
	}
	return nil
}

func install(dir string) error {
	ours := map[string]bool{}
	err := fs.WalkDir(plugin, "plugin", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "plugin")))
		ours[to] = true
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := plugin.ReadFile(name)
		if err != nil {
			return err
		}
		return replace(to, content)
	})
	if err != nil {
		return err
	}
	return removeOthers(filepath.Join(dir, Name), ours)
}

func replace(path string, content []byte) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode() == 0o444 {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			return nil
		}
	}
	temp := filepath.Join(filepath.Dir(path), ".new-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// removeOthers takes away what an older version had, or a killed Install left: Claude Code would load it.
func removeOthers(dir string, ours map[string]bool) error {
	var others []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !ours[path] {
			others = append(others, path)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	})
	for _, path := range others {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
