package secret

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"claude-hub/internal/claudehub"
)

const maxFile = 1 << 20

// stamp tells one state of the file from another.
type stamp struct {
	inode uint64
	size  int64
	when  time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stampFrom(info), nil
}

func stampFrom(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), when: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

// readFile reads the keyset. The reader's own errors may quote the file, and are not passed on.
func readFile(path string) (*keyset.Handle, stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, unreadable(path, err)
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, stamp{}, claudehub.Errorf(claudehub.Invalid, "The keyset %s is open to others (its mode is %04o), and with it all secret Variables. "+
			"Run chmod 600 on it. If others can have read it, run `claude-hub keyset rotate` then, and set the secrets anew.", path, mode.Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, stamp{}, unreadable(path, err)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(b)))
	if err != nil {
		return nil, stamp{}, claudehub.Errorf(claudehub.Invalid, "The keyset %s is damaged, or is none. Put a backup of it in its place; nothing was changed.", path)
	}
	return handle, stampFrom(info), nil
}

func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return claudehub.WithCause(claudehub.NotFound, err, "There is no keyset at %s.", path)
	case errors.Is(err, fs.ErrPermission):
		return claudehub.WithCause(claudehub.Invalid, err, "The keyset %s cannot be read: permission is denied. It has to belong to the user that the Hub runs as.", path)
	}
	return claudehub.WithCause(claudehub.Invalid, err, "The keyset %s cannot be read.", path)
}

// makeFile makes a keyset with one key, and never in place of a file that is there.
func makeFile(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return claudehub.WithCause(claudehub.Internal, err, "A key could not be made.")
	}
	temp, err := writeBeside(path, "first", handle)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()                                      // the file has its own name by now, or none is wanted
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return unwritable(path, err)
	}
	return syncFolder(path)
}

// writeBeside writes a keyset, whole and on disk, under another name in the same folder.
func writeBeside(path, what string, handle *keyset.Handle) (temp string, err error) {
	var b bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&b)); err != nil {
		return "", claudehub.WithCause(claudehub.Internal, err, "The keyset could not be written.")
	}
	f, err := os.CreateTemp(filepath.Dir(path), beside(path, what)) // mode 0600
	if err != nil {
		return "", unwritable(path, err)
	}
	_, err = f.Write(append(b.Bytes(), '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", unwritable(path, err)
	}
	return f.Name(), nil
}

func beside(path, what string) string { return "." + filepath.Base(path) + "." + what + "-*" }

func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return unwritable(path, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return unwritable(path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	return claudehub.WithCause(claudehub.Invalid, err, "The keyset %s cannot be written. Check its folder and the disk, or choose another place with --keyset.", path)
}
