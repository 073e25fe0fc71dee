package runner

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deepTree makes folders in folders, too deep for any path, and a file at the bottom.
func deepTree(t *testing.T, dir string, depth int) {
	t.Helper()
	fd, err := openDir(unix.AT_FDCWD, dir)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(fd, "down", 0o700))
		next, err := openDir(fd, "down")
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o600)
	must(t, err)
	must(t, unix.Close(file))
	must(t, unix.Close(fd))
}

func TestDiskUsageCountsWhatIsThere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	big := make([]byte, 1<<20)
	must(t, os.WriteFile(filepath.Join(outside, "not ours"), big, 0o600))
	before, err := diskUsage(t.Context(), dir)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a"), big, 0o600))
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b"))) // no more space
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	must(t, os.Symlink(dir, filepath.Join(dir, "round")))
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	must(t, sparse.Truncate(1<<40))
	must(t, sparse.Close())
	deepTree(t, dir, 2*maxDepth)
	after, err := diskUsage(t.Context(), dir, filepath.Join(dir, "not there"))
	must(t, err)
	if grown := after - before; grown < 1<<20 || grown > 1<<20+4*maxDepth*4096 {
		t.Errorf("a megabyte in one file counts as %d", grown)
	}
	must(t, removeDeep(t, dir))
}

func removeDeep(t *testing.T, dir string) error {
	t.Helper()
	_, err := removeTree(t.Context(), dir)
	return err
}

func TestDiskUsageEndsWhenTold(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		must(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", i+1)), 0o700))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diskUsage(ctx, dir); err == nil {
		t.Error("it went on")
	}
}

// TestRemoveTree: closed folders, links to elsewhere and a tree deeper than any path are no hindrance.
func TestRemoveTree(t *testing.T) {
	parent, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	must(t, os.WriteFile(kept, []byte("work"), 0o600))
	dir := filepath.Join(parent, "session")
	must(t, os.MkdirAll(filepath.Join(dir, "cache", "pkg"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "cache", "pkg", "file"), make([]byte, 3<<20), 0o400))
	must(t, os.Link(kept, filepath.Join(dir, "hard")))
	must(t, os.Symlink(outside, filepath.Join(dir, "cache", "pkg", "out")))
	must(t, os.Chmod(filepath.Join(dir, "cache", "pkg"), 0o500))
	must(t, os.Chmod(filepath.Join(dir, "cache"), 0o000))
	deepTree(t, dir, 3000)
	for i := range 3 * dirBatch {
		must(t, os.WriteFile(filepath.Join(dir, "many-"+strconv.Itoa(i)), nil, 0o600))
	}
	freed, err := removeTree(t.Context(), dir)
	must(t, err)
	if freed < 3<<20 || freed > 3<<20+4000*4096+1<<20 {
		t.Errorf("three megabytes gave back %d", freed)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "work" {
		t.Errorf("what was outside: %q, %v", b, err)
	}
	if freed, err := removeTree(t.Context(), dir); err != nil || freed != 0 {
		t.Errorf("again: %d, %v", freed, err)
	}
	must(t, os.Symlink(outside, dir))
	if _, err := removeTree(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error("a link in the folder's place was followed")
	}
}
