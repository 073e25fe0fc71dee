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

// addressFile is where a running Hub writes how it is reached, for the commands beside it.
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

// Running is how the Hub with a data directory is reached, or was last.
type Running struct {
	URL string // by browsers
	// Mode is local or github: how people sign in.
	Mode string
	// Listener is scheme and address of the socket itself, for who asks from this machine.
	Listener string
}

// The modes, as the API calls them too.
const (
	modeLocal  = "local"
	modeGitHub = "github"
)

// note writes down how the Hub is reached, a line each.
func (r Running) note(dir string) error {
	text := strings.Join([]string{r.URL, r.Mode, r.Listener}, "\n") + "\n"
	if err := writeWhole(filepath.Join(dir, addressFile), []byte(text)); err != nil {
		return badData(dir, err)
	}
	return nil
}

// LastRunning reads what the Hub noted; false when it has not run yet.
func LastRunning(dir string) (Running, bool) {
	b, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return Running{}, false
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	r := Running{URL: lines[0], Mode: modeLocal, Listener: lines[0]} // an older Hub noted the URL alone
	if len(lines) >= 3 {
		r.Mode, r.Listener = lines[1], lines[2]
	}
	return r, r.URL != ""
}

// Address is how the Hub with that data directory is reached, or was last; "" when that is not known.
func Address(dir string) string {
	r, _ := LastRunning(dir)
	return r.URL
}

// writeWhole puts a file there for this user alone, whole or not at all.
func writeWhole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
