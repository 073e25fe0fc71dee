//go:build linux

package microsandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/internal/claudehub"
)

func TestRigImages(t *testing.T) {
	b := rig(t)
	spec := small(t, "build")
	spec.Build = true
	id := start(t, b, spec)
	sh(t, b, id, "echo built >/opt/built; head -c 5000000 /dev/urandom >/opt/five; mkdir -p ~/.cfg")
	if err := b.Commit(long(t), id, "env-1"); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("a running one was committed: %v", err)
	}
	if err := b.Stop(long(t), id, times(time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.RemoveImage(long(t), "env-1") })
	began := time.Now()
	if err := b.Commit(long(t), id, "env-1"); err != nil {
		t.Fatal(err)
	}
	t.Logf("commit %v", time.Since(began).Round(time.Millisecond))
	if err := b.Commit(long(t), id, "env-1"); err != nil {
		t.Errorf("the second commit: %v", err)
	}
	if err := b.Remove(long(t), id); err != nil {
		t.Fatal(err)
	}
	infos, err := b.Images(long(t))
	if err != nil || len(infos) != 2 || infos[0].Image != base || infos[1].Image != "env-1" || infos[1].On != base || infos[0].Bytes < 50<<20 || infos[1].Bytes < 5<<20 || infos[1].Bytes > 80<<20 {
		t.Errorf("%+v, %v", infos, err)
	}
	t.Logf("%+v", infos)

	user := small(t, "user")
	user.Image = "env-1"
	user.Limits.DiskBytes = 22 << 30 // more than the image's own disk has
	began = time.Now()
	start(t, b, user)
	t.Logf("start from a committed image %v", time.Since(began).Round(time.Millisecond))
	if got := sh(t, b, user.ID, "cat /opt/built; echo mine >/opt/built; stat -c %s /opt/five; df -m / | awk 'END {print ($2 > 21000)}'"); got != "built\n5000000\n1" {
		t.Errorf("got %q", got)
	}
	if err := b.RemoveImage(long(t), "env-1"); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("an image in use was removed: %v", err)
	}
	if err := b.Stop(long(t), user.ID, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveImage(long(t), "env-1"); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("an image of one that sleeps was removed: %v", err)
	}
	if err := b.Start(long(t), user); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, b, user.ID, "cat /opt/built; df -m / | awk 'END {print ($2 > 21000)}'"); got != "mine\n1" {
		t.Errorf("after a sleep: %q", got)
	}
	if err := b.Remove(long(t), user.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveImage(long(t), "env-1"); err != nil {
		t.Error(err)
	}
	if err := b.RemoveImage(long(t), "env-1"); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if _, err := os.Stat(filepath.Join(shared.dir, "m", "snapshots", "env-1")); err == nil {
		t.Error("its files are still there")
	}
	if err := b.Start(long(t), user); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("it started from nothing: %v", err)
	}
	if err := b.RemoveImage(long(t), base); err != nil { // nothing uses it
		t.Error(err)
	}
	if infos, err := b.Images(long(t)); err != nil || len(infos) != 0 {
		t.Errorf("%+v, %v", infos, err)
	}
	began = time.Now()
	var told []float64
	if err := b.Import(long(t), os.Getenv("CLAUDE_HUB_BASE_TAR"), base, func(f float64) { told = append(told, f) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("import %v", time.Since(began).Round(time.Millisecond))
	if !slices.IsSorted(told) || len(told) < 10 || told[len(told)-1] != 1 {
		t.Errorf("progress was told as %v", told)
	}
}

// TestRigReclaim leaves behind what killed programs would, and has it removed; what is in use stays.
func TestRigReclaim(t *testing.T) {
	b := rig(t)
	id := start(t, b, small(t, "stays"))
	vm := filepath.Join(shared.dir, "m", "sandboxes")
	large := make([]byte, 4<<20)
	left := []string{filepath.Join(vm, msbName("half")), filepath.Join(shared.dir, "m", "snapshots", "orphan"), filepath.Join(shared.dir, "tmp", "old")}
	for _, dir := range left {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "upper.ext4"), large, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	freed, err := b.Reclaim(long(t))
	if err != nil || freed < 12<<20 {
		t.Errorf("%d, %v", freed, err)
	}
	for _, dir := range left {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
	if got := sh(t, b, id, "echo here"); got != "here" {
		t.Errorf("got %q", got)
	}
	if infos, err := b.Images(long(t)); err != nil || len(infos) == 0 {
		t.Errorf("%v, %v", infos, err)
	}
}

// TestRigTenShareAnImage: what a Sandbox adds to the disk is what it changed.
func TestRigTenShareAnImage(t *testing.T) {
	b := rig(t)
	before := du(t, shared.dir)
	const n = 10
	for i := range n {
		spec := small(t, "ten-"+string(rune('a'+i)))
		id := start(t, b, spec)
		if err := b.Stop(long(t), id, 0); err != nil {
			t.Fatal(err)
		}
	}
	each := (du(t, shared.dir) - before) / n
	t.Logf("one Sandbox takes %d KB", each>>10)
	if each > 12<<20 {
		t.Errorf("one Sandbox takes %d bytes", each)
	}
}

func du(t testing.TB, dir string) int64 {
	t.Helper()
	r, err := process.Run(context.Background(), process.Command{Path: "du", Args: []string{"-sk", dir}})
	if err != nil {
		t.Fatal(err)
	}
	var kb int64
	for _, c := range r.Stdout {
		if c < '0' || c > '9' {
			break
		}
		kb = kb*10 + int64(c-'0')
	}
	return kb << 10
}
