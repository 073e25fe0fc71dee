package secret

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"claude-hub/internal/claudehub"
)

// Rotate adds a key to the file and seals with it from now on. The older keys stay: what they sealed, in the database or
// in a backup of it, opens. It may be interrupted anywhere, and repeated: the file is the old one or the new one.
func Rotate(path string) (*Box, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	unlock, err := lock(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	handle, _, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if handle, err = withNewKey(handle); err != nil {
		return nil, claudehub.WithCause(claudehub.Internal, err, "A new key could not be made. The keyset is as it was.")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), beside(path, "next"))); err == nil {
		for _, old := range left {
			_ = os.Remove(old) // of a rotation that was killed; it never became the keyset
		}
	}
	temp, err := writeBeside(path, "next", handle)
	if err != nil {
		return nil, err
	}
	if err := replace(temp, path); err != nil {
		_ = os.Remove(temp)
		return nil, unwritable(path, err)
	}
	if err := syncFolder(path); err != nil {
		return nil, err
	}
	return Load(path)
}

func withNewKey(handle *keyset.Handle) (*keyset.Handle, error) {
	m := keyset.NewManagerFromHandle(handle)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	if err := m.SetPrimary(id); err != nil {
		return nil, err
	}
	return m.Handle()
}

// replace keeps the file's owner: root may rotate for the user that the Hub runs as.
func replace(temp, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Chown(temp, int(sys.Uid), int(sys.Gid)); err != nil {
			return err
		}
	}
	return os.Rename(temp, path)
}

// lock keeps two rotations apart: one would lose the other's key.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, unwritable(path, err)
	}
	return func() { f.Close() }, nil
}
