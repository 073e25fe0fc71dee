package claude

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// folder is a configuration folder that a Sandbox writes to. Whatever is in it may be a trap: a symbolic link to a file
// of the host's, a pipe that never answers, a file without end. Root keeps paths inside; the rest is checked here.
type folder struct{ root *os.Root }

func openFolder(dir string) (folder, error) {
	root, err := os.OpenRoot(dir)
	return folder{root}, err
}

func (f folder) close() { f.root.Close() }

// errNotFile says that something else than a file is where a file belongs.
var errNotFile = errors.New("not a regular file")

// open opens a regular file for reading, and nothing else: not what a link in the last place names, and not a pipe,
// whose opening would wait.
func (f folder) open(name string) (*os.File, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, errNotFile)
	}
	// What was exchanged in between is caught below, or leads no further than the folder.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, errNotFile)
	}
	return file, nil
}

// errTooLarge says that a file is larger than it is ever read.
var errTooLarge = errors.New("too large")

func (f folder) read(name string, limit int64) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w", name, errTooLarge)
	}
	return b, nil
}

// write replaces a file, whatever was in its place, by a new one with this content. It is on disk when this returns.
func (f folder) write(name string, b []byte) error {
	temp := path.Join(path.Dir(name), ".claude-hub-"+rand.Text())
	file, err := f.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err == nil {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		_ = f.root.Remove(temp) // the first error is the one to tell
		return err
	}
	return f.sync(path.Dir(name))
}

// sync puts a folder's own changes on disk.
func (f folder) sync(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// setAside moves what is at a name to one beside it that tells why.
func (f folder) setAside(name, why string) error {
	for i := 1; i < 100; i++ {
		aside := fmt.Sprintf("%s.%s-%d", name, why, i)
		if _, err := f.root.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return f.root.Rename(name, aside)
		} else if err != nil {
			return err
		}
	}
	// A hundred times broken: another copy is not worth more than going on.
	return f.root.RemoveAll(name)
}
