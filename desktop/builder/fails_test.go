//go:build linux

package builder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// TestWhatGoesWrongIsSaid: each bad recipe, the step and the line it fails in, and what the person reads.
func TestWhatGoesWrongIsSaid(t *testing.T) {
	y := newYard(t, func(o *builder.Options) { o.Limit = 60 * time.Second })
	bare := filepath.Join(t.TempDir(), "bare")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	noTools := filepath.Join(t.TempDir(), "no-tools")
	if err := makeRoot(noTools, plain...); err != nil {
		t.Fatal(err)
	}
	warm, _ := request(recipe("")) // so that each case comes to its own step
	if _, err := y.Ensure(soon(t), warm); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*claudehub.Recipe)
		step   string
		line   int
		reason string
		kept   bool
	}{
		"a command fails":    {setup("true\ntrue\n\nfalse\necho not reached\n"), "Setup script", 4, "Line 4 of the setup script failed with exit code 1: false", true},
		"in a function":      {setup("f() {\n  ls /none\n}\nf\n"), "Setup script", 2, "Line 2", true},
		"a pipe's last part": {setup("true\necho x | false\n"), "Setup script", 2, "Line 2", true},
		"no such command":    {setup("true\nno-such-program --x\n"), "Setup script", 2, "exit code 127: no-such-program --x", true},
		"a syntax error":     {setup("true\nif true; then\n"), "Setup script", 3, "Line 3", true},
		"an unset variable":  {setup("set -u\necho $nothing_here\n"), "Setup script", 2, "Line 2", true},
		"it leaves with 3":   {setup("exit 3"), "Setup script", 0, "ended with exit code 3", true},
		"it asks for input":  {setup("read -r answer\necho $answer"), "Setup script", 1, "Line 1", true},
		"it asks a terminal": {setup("read -r answer </dev/tty\necho $answer"), "Setup script", 1, "Line 1", true},
		"it kills itself":    {setup("kill -9 $$"), "Setup script", 0, "was killed", true},
		"it kills everyone":  {setup("sleep 1000 & kill -9 -1; exit 5"), "Setup script", 0, "exit code 5", true},
		"it breaks a tool":   {setup("rm /usr/bin/git"), "Smoke test", 0, "no working git", false},
		"it breaks gh":       {setup("printf '#!/bin/sh\\necho broken; exit 1' > /usr/bin/gh"), "Smoke test", 0, "no working gh", false},
		"not a root":         {base(bare), "Base image", 0, "no /bin/sh", false},
		"no such folder":     {base("/no/such/folder"), "Base image", 0, "no folder", false},
		"no such archive":    {kind(claudehub.BaseArchive, "/no/such/archive"), "Base image", 0, "no file", false},
		"no such registry":   {kind(claudehub.BaseRegistry, "127.0.0.1:1/x:1"), "Base image", 0, "did not answer", false},
		"no tools, no way":   {base(noTools), "Setup script", 0, "no tmux, no git, no gh, no ca-certificates", false},
		"a closed network":   {func(r *claudehub.Recipe) { r.Network = claudehub.NetworkInternet; r.Setup = "echo closed" }, "Setup script", 0, "cannot enforce", false},
		"no CPU":             {func(r *claudehub.Recipe) { r.CPUs = 0 }, "Base image", 0, "0", false},
		"little memory":      {func(r *claudehub.Recipe) { r.Memory = 64 << 20 }, "Base image", 0, "at least 512 MB", false},
		"a terabyte":         {func(r *claudehub.Recipe) { r.Memory = 1 << 40 }, "Base image", 0, "at most 256 GB", false},
		"more than there is": {func(r *claudehub.Recipe) { r.Memory = 255 << 30; r.Setup = "echo large" }, "Base image", 0, "machine has", false},
	} {
		t.Run(name, func(t *testing.T) {
			y := *y
			y.t = t
			rec := recipe("")
			c.change(&rec)
			r, w := request(rec)
			f := y.fails(r)
			o := w.last()
			if f.Failure.Step != c.step || f.Line != c.line || !strings.Contains(f.Failure.Reason, c.reason) {
				t.Errorf("%s, line %d: %s | %s\n%s", f.Failure.Step, f.Line, f.Failure.Reason, f.Failure.Fix, y.log(r.ID))
			}
			if o.State != claudehub.BuildFailed || o.Failure == nil || o.Failure.Reason != f.Failure.Reason || o.Line != c.line || o.Kept.IsZero() == c.kept {
				t.Errorf("reported %+v, %+v", o, o.Failure)
			}
			if claudehub.MessageOf(f) == claudehub.MessageOf(errors.New("x")) {
				t.Error("it has no sentence")
			}
			_, err := y.Look(soon(t), r.ID)
			if (err == nil) != c.kept {
				t.Errorf("a look inside: %v", err)
			}
			if err := y.ReleaseKept(soon(t), r.ID); err != nil {
				t.Error(err)
			}
			if infos, err := y.backend.List(soon(t)); err != nil || len(infos) != 0 {
				t.Errorf("left: %v, %v", infos, err)
			}
		})
	}
	for _, img := range y.images() {
		if !strings.HasPrefix(string(img), "base-") {
			t.Errorf("left: %s", img)
		}
	}
}

func setup(script string) func(*claudehub.Recipe) {
	return func(r *claudehub.Recipe) { r.Setup = script }
}

func base(path string) func(*claudehub.Recipe) { return kind(claudehub.BaseDirectory, path) }

func kind(k claudehub.BaseKind, ref string) func(*claudehub.Recipe) {
	return func(r *claudehub.Recipe) { r.Base = claudehub.Base{Kind: k, Ref: ref} }
}

func (y *yard) images() (names []sandbox.Image) {
	y.t.Helper()
	all, err := y.backend.Images(soon(y.t))
	if err != nil {
		y.t.Fatal(err)
	}
	for _, i := range all {
		names = append(names, i.Image)
	}
	return names
}

// TestWithoutBash: the line is what the shell itself says.
func TestWithoutBash(t *testing.T) {
	y := newYard(t)
	small := filepath.Join(t.TempDir(), "small")
	if err := makeRoot(small, append(plain[1:], "tmux", "git")...); err != nil {
		t.Fatal(err)
	}
	if err := addTools(small); err != nil {
		t.Fatal(err)
	}
	rec := recipe("true\ntrue\nno-such-program\necho not reached")
	rec.Base.Ref = small
	r, _ := request(rec)
	if f := y.fails(r); f.Line != 3 || strings.Contains(y.log(r.ID), "not reached") {
		t.Errorf("%d: %+v\n%s", f.Line, f.Failure, y.log(r.ID))
	}
}

func TestAScriptThatNeverEndsIsEnded(t *testing.T) {
	y := newYard(t, func(o *builder.Options) { o.Limit = 4 * time.Second })
	r, w := request(recipe("echo begun; while :; do sleep 1; done"))
	f := y.fails(r)
	if f.Failure.Step != "Setup script" || !strings.Contains(f.Failure.Reason, "4s") || w.last().Kept.IsZero() {
		t.Errorf("%+v, %+v", f.Failure, w.last())
	}
}

func TestAScriptThatFillsTheDiskIsEnded(t *testing.T) {
	y := newYard(t)
	rec := recipe("yes | head -c 3000000000 > /big; sleep 1000")
	rec.Disk = claudehub.MinDisk
	r, _ := request(rec)
	f := y.fails(r)
	if f.Failure.Step != "Setup script" || !strings.Contains(f.Failure.Reason, "1 GB") {
		t.Errorf("%+v", f.Failure)
	}
}

// TestASandboxThatDies while the script runs: its PID 1 is killed from outside, as the kernel does for memory.
func TestASandboxThatDies(t *testing.T) {
	y := newYard(t)
	r, _ := request(recipe("echo up; sleep 51001"))
	done := make(chan error, 1)
	go func() {
		_, err := y.Ensure(soon(t), r)
		done <- err
	}()
	for pid := 0; pid == 0; time.Sleep(10 * time.Millisecond) {
		if pid = parentOf("sleep\x0051001\x00"); pid != 0 {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := <-done
	var f *builder.Failed
	if !errors.As(err, &f) || !strings.Contains(f.Failure.Reason, "The Sandbox ended while the setup script ran") {
		t.Errorf("%v", err)
	}
	if infos, err := y.backend.List(soon(t)); err != nil || len(infos) != 0 {
		t.Errorf("left: %v, %v", infos, err)
	}
}

// parentOf is the PID 1 of the Sandbox in which a command runs; 0 for none.
func parentOf(line string) int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil || string(raw) != line {
			continue
		}
		for pid := filepath.Base(filepath.Dir(path)); pid != "0" && pid != "1"; {
			exe, _ := os.Readlink("/proc/" + pid + "/exe")
			if strings.Contains(exe, "claude-hub") {
				var n int
				_, _ = fmt.Sscan(pid, &n)
				return n
			}
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil {
				break
			}
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			pid = fields[1]
		}
	}
	return 0
}

// TestAHundredMegabytesOfOutput: the log is bounded, has both ends, says what is missing, and costs no memory.
func TestAHundredMegabytesOfOutput(t *testing.T) {
	y := newYard(t)
	r, w := request(recipe("echo the-first-line; yes 0123456789abcdef | head -c 100000000; echo; echo the-last-line"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := y.Ensure(soon(t), r); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	log := y.log(r.ID)
	if len(log) > claudehub.MaxBuildLog || len(log) < claudehub.MaxBuildLog/2 {
		t.Errorf("the log has %d bytes", len(log))
	}
	for _, text := range []string{"the-first-line\n", "the-last-line\n", "bytes are left out here"} {
		if strings.Count(log, text) != 1 {
			t.Errorf("%q is there %d times", text, strings.Count(log, text))
		}
	}
	if !strings.Contains(log[:4096], "the-first-line") || !strings.Contains(log[len(log)-4096:], "the-last-line") {
		t.Error("the ends are not at the ends")
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d MB are still held", grown>>20)
	}
	for _, s := range w.last().Steps {
		if s.LogFrom > int64(len(log)) {
			t.Errorf("%s begins at %d of %d", s.Name, s.LogFrom, len(log))
		}
	}
}

// TestSecretsStayOutOfTheLog, also in a failure's detail, the records and the Image.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	y := newYard(t)
	const secret, plainText = "s3cret-marker-word", "plain-marker-word"
	key := "-----BEGIN-----\nline-one-of-the-key\nline-two-of-the-key\n"
	r, w := request(recipe(`echo "$TOKEN" "$PLAIN"
printf '%s' "$TOKEN" | while read -r -n 1 c; do printf '%s' "$c"; sleep 0.01; done; echo
echo "$KEY" | cat
echo "$KEY" > /dev/null
sh -c "exit 9" "$TOKEN"`))
	r.Variables = func(context.Context) (env, secrets []string, err error) {
		return []string{"TOKEN=" + secret, "PLAIN=" + plainText, "KEY=" + key}, []string{secret, key}, nil
	}
	f := y.fails(r)
	log := y.log(r.ID)
	if !strings.Contains(log, "*** "+plainText) || f.Line != 5 {
		t.Errorf("%d: %s", f.Line, log)
	}
	for _, text := range []string{secret, "line-one", "line-two"} {
		if strings.Contains(log, text) || strings.Contains(fmt.Sprintf("%+v", f), text) || strings.Contains(fmt.Sprintf("%+v", w.seen), text) {
			t.Errorf("%q got out", text)
		}
		err := filepath.WalkDir(y.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), text) {
				t.Errorf("%s has %q", path, text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestVariablesThatCannotBeHad(t *testing.T) {
	y := newYard(t)
	r, _ := request(recipe("true"))
	r.Variables = func(context.Context) (env, secrets []string, err error) {
		return nil, nil, claudehub.Errorf(claudehub.Unavailable, "The Hub does not answer. Try again.")
	}
	if f := y.fails(r); !strings.Contains(f.Failure.Reason, "The Hub does not answer") || !f.Failure.Retry {
		t.Errorf("%+v", f.Failure)
	}
}
