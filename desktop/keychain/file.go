package keychain

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"claude-hub/internal/claudehub"
)

// maxSecret bounds a secret's file.
const maxSecret = 16 << 10

// files keeps each secret in a file of its own.
type files struct{ dir string }

func (f files) where() string { return "files in " + f.dir }

func (f files) get(_ context.Context, name string) (string, error) {
	path := filepath.Join(f.dir, name)
	if err := private(path, 0o600); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", claudehub.WithCause(claudehub.Unavailable, err, "%s cannot be read.", path)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSecret))
	if err != nil {
		return "", claudehub.WithCause(claudehub.Unavailable, err, "%s cannot be read.", path)
	}
	return string(b), nil
}

func (f files) set(_ context.Context, name, value string) error {
	return writeWhole(f.dir, name, value)
}

func (f files) remove(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(f.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return claudehub.WithCause(claudehub.Unavailable, err, "%s cannot be removed.", filepath.Join(f.dir, name))
	}
	return nil
}

// private refuses what others could read or have put there, and says how to mend it.
func private(path string, want fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0, mode.Type() != want.Type():
		return claudehub.Errorf(claudehub.Invalid, "%s is not what it should be: a link or another kind of file stands there. Remove it and set the token again.", path)
	case mode.Perm()&^want.Perm() != 0:
		return claudehub.Errorf(claudehub.Invalid, "%s can be read by others (mode %o). Run: chmod %o %s", path, mode.Perm(), want.Perm(), path)
	}
	return nil
}

// writeWhole replaces a file by another, so that a kill leaves the old one or the new one.
func writeWhole(dir, name, text string) error {
	failed := func(err error) error {
		return claudehub.WithCause(claudehub.Unavailable, err, "%s cannot be written.", filepath.Join(dir, name))
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return failed(err)
	}
	_, err = io.WriteString(f, text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return failed(errors.Join(err, os.Remove(f.Name())))
	}
	d, err := os.Open(dir)
	if err != nil {
		return failed(err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return failed(err)
	}
	return nil
}
