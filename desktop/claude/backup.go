package claude

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Copied says what Backup did.
type Copied struct {
	Bytes     int64 // added
	Size      int64 // of the copy
	Rewritten bool  // the transcript was not the old one with more at its end; the old copy is kept as well
}

// compared is how much before the end of the copy is compared, to see that the transcript only grew.
const compared = 64 << 10

// Backup copies the transcript's whole lines into a folder that the Sandbox cannot reach. Only what is new is copied.
// A transcript that lost its end leaves the longer copy as it is; one that became another file has the old copy put
// aside, as <id>.previous.jsonl.
func (t Transcript) Backup(to string) (c Copied, err error) {
	err = t.reading(func(_ folder, _ string, file *os.File) (err error) {
		c, err = copyLines(file, filepath.Join(to, t.SessionID))
		return err
	})
	return c, err
}

func copyLines(from *os.File, base string) (Copied, error) {
	info, err := from.Stat()
	if err != nil {
		return Copied{}, err
	}
	if info.Size() > maxTranscript {
		return Copied{}, fmt.Errorf("transcript of %d bytes: %w", info.Size(), errTooLarge)
	}
	whole, err := lastLineEnd(from, info.Size())
	if err != nil {
		return Copied{}, err
	}
	to, err := os.OpenFile(base+".jsonl", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Copied{}, err
	}
	defer to.Close()
	have, err := to.Seek(0, io.SeekEnd)
	if err != nil {
		return Copied{}, err
	}
	same, err := sameUntil(from, to, min(have, whole))
	if err != nil {
		return Copied{}, err
	}
	switch {
	case !same:
		return copyAnew(from, whole, base)
	case whole <= have:
		return Copied{Size: have}, nil
	}
	n, err := io.Copy(to, io.NewSectionReader(from, have, whole-have))
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		// Half a line in the copy would make the next comparison fail, and the copy be put aside for nothing.
		return Copied{}, errors.Join(err, to.Truncate(have))
	}
	return Copied{Bytes: n, Size: have + n}, nil
}

// copyAnew writes a second file and exchanges the two by name.
func copyAnew(from *os.File, whole int64, base string) (Copied, error) {
	temp, err := os.OpenFile(base+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return Copied{}, err
	}
	defer temp.Close()
	n, err := io.Copy(temp, io.NewSectionReader(from, 0, whole))
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		err = os.Rename(base+".jsonl", base+".previous.jsonl")
	}
	if err == nil {
		err = os.Rename(temp.Name(), base+".jsonl")
	}
	return Copied{Bytes: n, Size: n, Rewritten: true}, err
}

// sameUntil compares the beginnings of two files at their start and before n.
func sameUntil(a, b *os.File, n int64) (bool, error) {
	for _, at := range []int64{0, max(n-compared, 0)} {
		size := min(compared, n-at)
		x, y := make([]byte, size), make([]byte, size)
		if _, err := a.ReadAt(x, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if _, err := b.ReadAt(y, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if !bytes.Equal(x, y) {
			return false, nil
		}
	}
	return true, nil
}

// lastLineEnd is how far whole lines reach.
func lastLineEnd(f *os.File, size int64) (int64, error) {
	b := make([]byte, compared)
	for end := size; end > 0; {
		from := max(end-compared, 0)
		n, err := f.ReadAt(b[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// Restore puts the copy in the place of a transcript that is missing. It never replaces one that has a whole line.
func (t Transcript) Restore(from string) (restored bool, err error) {
	c, err := t.Check()
	if err != nil || c.State != TranscriptMissing {
		return false, err
	}
	name, err := t.name()
	if err != nil {
		return false, err
	}
	source, err := os.Open(filepath.Join(from, t.SessionID+".jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, transcriptError(err)
	}
	defer source.Close()
	if found, _, err := condition(source); err != nil || found.State == TranscriptMissing {
		return false, transcriptError(err)
	}
	f, err := openFolder(t.ConfigDir)
	if err != nil {
		return false, transcriptError(err)
	}
	defer f.close()
	return true, transcriptError(f.restore(name, source))
}

func (f folder) restore(name string, source io.Reader) error {
	dir := path.Dir(name)
	for _, d := range []string{path.Dir(dir), dir} {
		info, err := f.root.Lstat(d)
		if err == nil && !info.IsDir() {
			if err := f.setAside(d, "broken"); err != nil {
				return err
			}
		}
	}
	if err := f.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := f.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := f.setAside(name, "broken"); err != nil {
			return err
		}
	}
	temp := path.Join(dir, ".claude-hub-"+rand.Text())
	file, err := f.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = io.Copy(file, source); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(temp))
	}
	return f.sync(dir)
}
