package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"claude-hub/internal/claudehub"
)

// addressFile is where a running Hub writes how it is reached, for `claude-hub sign-in-link`.
const addressFile = "address"

// prepareData makes the data directory, for this user alone.
func prepareData(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return badData(dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return badData(dir, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return claudehub.Errorf(claudehub.Invalid, "Others may write to the data directory %s (its mode is %04o). "+
			"Run chmod 700 on it, or choose another with --data.", dir, mode)
	}
	return nil
}

// lockData keeps a second Hub out: on one database with two buses, neither would hear of the other's changes. The lock
// is the process's, so that none is left by one that was killed.
func lockData(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, badData(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, claudehub.Errorf(claudehub.Conflict, "Another Hub runs on the data directory %s. Stop it, or choose another directory with --data.", dir)
		}
		return nil, badData(dir, err)
	}
	return func() { f.Close() }, nil
}

func badData(dir string, err error) error {
	why := "it cannot be used"
	switch {
	case errors.Is(err, fs.ErrPermission):
		why = "permission is denied"
	case errors.Is(err, syscall.ENOTDIR):
		why = "it, or a part of its path, is a file"
	case errors.Is(err, syscall.EROFS):
		why = "the file system is read-only"
	case errors.Is(err, syscall.ENOSPC):
		why = "the disk is full"
	}
	return claudehub.WithCause(claudehub.Invalid, err, "The data directory %s is of no use: %s. Mend that, or choose another with --data.", dir, why)
}

// writeAddress notes how the Hub is reached.
func writeAddress(dir, url string) error {
	if err := os.WriteFile(filepath.Join(dir, addressFile), []byte(url+"\n"), 0o600); err != nil {
		return badData(dir, err)
	}
	return nil
}

// Address is how the Hub with that data directory is reached, or was last; "" when that is not known.
func Address(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
