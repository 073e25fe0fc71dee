//go:build linux

package microsandbox_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
)

// TestRigSecrecy types a marker in a terminal of the Sandbox, which echoes it, gives another to a process in its
// environment, which prints it, and then looks for both everywhere on this machine where the Backend or msb may have
// written it down. They are found in the one file of the workspace that they were written to.
func TestRigSecrecy(t *testing.T) {
	b := rig(t)
	spec := small(t, "secret")
	id := start(t, b, spec)
	typed, given := "typed-"+rand.Text(), "given-"+rand.Text()

	p, err := b.Exec(long(t), id, sandbox.Command{Path: "sh", TTY: true, Cols: 80, Rows: 24, Env: []string{"PS1=> ", "TOKEN=" + given}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	until(t, p.Stdout(), "> ")
	if _, err := io.WriteString(p.Stdin(), "echo "+typed+" | tee /workspace/kept; echo $TOKEN\n"); err != nil {
		t.Fatal(err)
	}
	until(t, p.Stdout(), given)
	if out, _, _ := run(t, b, id, sandbox.Command{Path: "env", Env: []string{"TOKEN=" + given}}, ""); !strings.Contains(out, given) {
		t.Errorf("the process did not get it: %q", out)
	}

	kept := filepath.Join(spec.Mounts[0].Host, "kept")
	look := func(when string) {
		t.Helper()
		found := findings(t, typed, given)
		for _, place := range found[given] {
			t.Errorf("%s: what was given is in %s", when, place)
		}
		if places := found[typed]; len(places) != 1 || places[0] != kept {
			t.Errorf("%s: what was typed is in %s, and not just in the file it was written to", when, places)
		}
	}
	look("awake")
	t.Log(diagnosis(b, id))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Stop(long(t), id, 0); err != nil {
		t.Fatal(err)
	}
	look("asleep")
}

// findings are the files of the state folder and the processes' command lines and environments that hold each text.
func findings(t testing.TB, texts ...string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	look := func(path string) {
		f, err := os.Open(path)
		if err != nil {
			return // it went meanwhile, or is a socket
		}
		defer f.Close()
		for text := range search(f, texts) {
			if !slices.Contains(found[text], path) { // the state folder may lie in /tmp
				found[text] = append(found[text], path)
			}
		}
	}
	for _, root := range []string{shared.dir, filepath.Join(os.Getenv("HOME"), ".microsandbox"), "/tmp", "/dev/shm"} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what cannot be read holds nothing
			if err == nil && e.Type().IsRegular() && !strings.HasSuffix(path, ".erofs") {
				look(path)
			}
			return nil
		})
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		look(filepath.Join(p, "cmdline"))
		look(filepath.Join(p, "environ"))
	}
	return found
}

// search looks through a file, and leaves out its holes: a VM's disk is mostly that.
func search(f *os.File, texts []string) map[string]bool {
	const step = 1 << 20
	found := map[string]bool{}
	longest := 0
	for _, text := range texts {
		longest = max(longest, len(text))
	}
	buf := make([]byte, 0, step+longest)
	at := int64(0)
	for {
		if data, err := f.Seek(at, unix.SEEK_DATA); err == nil && data > at {
			at, buf = data, buf[:0]
		} else if errors.Is(err, unix.ENXIO) {
			return found // nothing but a hole is left
		} else if err != nil {
			_, _ = f.Seek(at, io.SeekStart) // a file without holes, of /proc for example
		}
		n, err := f.Read(buf[len(buf) : len(buf)+step])
		at, buf = at+int64(n), buf[:len(buf)+n]
		for _, text := range texts {
			if bytes.Contains(buf, []byte(text)) {
				found[text] = true
			}
		}
		if err != nil || n == 0 {
			return found
		}
		if keep := longest - 1; len(buf) > keep {
			buf = append(buf[:0], buf[len(buf)-keep:]...)
		}
	}
}
