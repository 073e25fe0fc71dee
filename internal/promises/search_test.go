//go:build linux

package promises_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// find tells which secrets are in b, by what they are.
func find(b []byte, secrets map[string]string) []string {
	var found []string
	for what, secret := range secrets {
		if bytes.Contains(b, []byte(secret)) {
			found = append(found, what)
		}
	}
	return found
}

// eachFile calls f with each regular file below dir.
func eachFile(t *testing.T, dir string, f func(path string, mode fs.FileMode, b []byte)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > 64<<20 {
			return nil // Claude Code itself
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count++
		f(path, info.Mode(), b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Fatalf("there is no file in %s", dir)
	}
}

// eachProcess calls f with each process of the machine and one of its files below /proc. One that ends meanwhile has none.
func eachProcess(t *testing.T, file string, f func(pid string, b []byte)) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, dir := range all {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
			f(filepath.Base(dir), b)
		}
	}
}

// searchMemory looks through all that a process can write to.
func searchMemory(pid int, secrets map[string]string) ([]string, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	maps, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	mem, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	var found []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		span, rest, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(rest, "rw") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(span, "%x-%x", &from, &to); err != nil {
			continue // the vsyscall page lies beyond int64
		}
		found = append(found, searchSpan(mem, from, to, secrets)...)
	}
	return found, nil
}

// searchSpan reads in pieces that overlap. A page that is not there reads as an error and is passed over.
func searchSpan(mem io.ReaderAt, from, to int64, secrets map[string]string) []string {
	const piece, overlap = 1 << 20, 4 << 10
	var found []string
	b := make([]byte, piece+overlap)
	for at := from; at < to; at += piece {
		n, err := mem.ReadAt(b[:min(int64(len(b)), to-at)], at)
		if err != nil && n == 0 {
			continue
		}
		found = append(found, find(b[:n], secrets)...)
	}
	return found
}
