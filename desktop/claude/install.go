package claude

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"claude-hub/internal/claudehub"
)

const (
	maxTarball = 512 << 20
	maxProgram = 1 << 30
	recordName = "program.json"
)

// errDamaged marks a kept program that is not what was installed.
var errDamaged = errors.New("damaged program")

// record is kept beside an installed program.
type record struct {
	Version   string `json:"version"`
	Integrity string `json:"integrity"` // of the package that it came from
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

// install checks the package, takes the program out, and puts it into its place.
func (s *Store) install(ctx context.Context, p Platform, tarball, work string, tell func(Progress)) (Program, error) {
	f, err := os.Open(tarball)
	if err != nil {
		return Program{}, err
	}
	defer f.Close()
	if err := s.checkPackage(ctx, p, f, tell); err != nil {
		return Program{}, err
	}
	// The same open file is read again, so what is unpacked is what was checked.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Program{}, err
	}
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		return Program{}, err
	}
	rec, err := s.unpack(ctx, f, filepath.Join(made, "claude"), tell)
	if err != nil {
		return Program{}, err
	}
	rec.Version, rec.Integrity = s.o.Release.Version, s.o.Release.Integrity[p]
	if err := writeRecord(filepath.Join(made, recordName), rec); err != nil {
		return Program{}, err
	}
	return s.place(p, made)
}

func (s *Store) checkPackage(ctx context.Context, p Platform, f *os.File, tell func(Progress)) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxTarball {
		return claudehub.Errorf(claudehub.TooLarge, "The package of Claude Code is far larger than it should be (%d MB). Nothing was installed.", info.Size()>>20)
	}
	h := sha512.New()
	if err := copyTelling(ctx, h, f, info.Size(), "Checking Claude Code", tell); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != s.o.Release.Integrity[p] {
		return claudehub.WithCause(claudehub.Unavailable, fmt.Errorf("sha512 is %s, want %s", got, s.o.Release.Integrity[p]),
			"The downloaded package of Claude Code %s for %s is not the one that was expected. Nothing was installed. "+
				"If npm uses a mirror, check it; if its cache is damaged, run: npm cache verify", s.o.Release.Version, p)
	}
	return nil
}

// unpack writes the one wanted file of the package. Every other name in it is passed over, so no path of the package
// is ever used.
func (s *Store) unpack(ctx context.Context, r io.Reader, to string, tell func(Progress)) (record, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return record{}, fmt.Errorf("read package: %w", err)
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return record{}, claudehub.Errorf(claudehub.Unavailable, "The package of Claude Code %s has no program in it. Nothing was installed.", s.o.Release.Version)
		}
		if err != nil {
			return record{}, fmt.Errorf("read package: %w", err)
		}
		if h.Name != "package/claude" || h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > maxProgram {
			return record{}, claudehub.Errorf(claudehub.TooLarge, "The program in the package of Claude Code is far larger than it should be. Nothing was installed.")
		}
		return writeProgram(ctx, t, h.Size, to, tell)
	}
}

func writeProgram(ctx context.Context, r io.Reader, size int64, to string, tell func(Progress)) (record, error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return record{}, err
	}
	defer f.Close()
	h := sha256.New()
	if err := copyTelling(ctx, io.MultiWriter(f, h), io.LimitReader(r, size), size, "Unpacking Claude Code", tell); err != nil {
		return record{}, err
	}
	if err := f.Chmod(0o555); err != nil {
		return record{}, err
	}
	if err := f.Sync(); err != nil {
		return record{}, err
	}
	return record{Size: size, SHA256: hexSum(h)}, f.Close()
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

func writeRecord(path string, rec record) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Sync()
}

// place renames the finished folder to where Program looks, over a damaged one.
func (s *Store) place(p Platform, made string) (Program, error) {
	to := s.folder(p)
	if err := removeReadOnly(to); err != nil {
		return Program{}, err
	}
	if err := os.Rename(made, to); err != nil {
		return Program{}, err
	}
	// Only now: a folder that cannot be written cannot be moved to another one either.
	if err := os.Chmod(to, 0o555); err != nil {
		return Program{}, err
	}
	return s.kept(p)
}

// kept returns the installed program after the cheap check: the record is of this release, and the sizes agree.
func (s *Store) kept(p Platform) (Program, error) {
	dir := s.folder(p)
	rec, err := readRecord(dir)
	if err != nil {
		return Program{}, err
	}
	path := filepath.Join(dir, "claude")
	info, err := os.Lstat(path)
	if err != nil {
		return Program{}, err
	}
	if rec.Integrity != s.o.Release.Integrity[p] || !info.Mode().IsRegular() || info.Size() != rec.Size || info.Mode().Perm() != 0o555 {
		return Program{}, fmt.Errorf("%w: %s is not as it was installed", errDamaged, path)
	}
	return Program{Version: rec.Version, Platform: p, Dir: dir, Path: path}, nil
}

func readRecord(dir string) (record, error) {
	var rec record
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, fmt.Errorf("%w: %s: %w", errDamaged, recordName, err)
	}
	return rec, nil
}

// checkWhole compares the program's checksum with the recorded one.
func (s *Store) checkWhole(ctx context.Context, program Program) error {
	rec, err := readRecord(program.Dir)
	if err != nil {
		return err
	}
	f, err := os.Open(program.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if err := copyTelling(ctx, h, f, rec.Size, "", func(Progress) {}); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if hexSum(h) != rec.SHA256 {
		return fmt.Errorf("%w: the checksum of %s differs", errDamaged, program.Path)
	}
	return nil
}

// copyTelling copies size bytes in pieces, so that it can be cancelled and followed.
func copyTelling(ctx context.Context, w io.Writer, r io.Reader, size int64, step string, tell func(Progress)) error {
	const piece = 8 << 20
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		tell(Progress{Step: step, Done: float64(done) / float64(max(size, 1))})
		n, err := io.CopyN(w, r, piece)
		done += n
		switch {
		case errors.Is(err, io.EOF) && done == size:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("copied %d of %d bytes: %w", done, size, io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
	}
}
