//go:build linux

package builder_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// runner is a Runner in a process of its own, which is killed while it builds.
func runner(dir string) int {
	b, err := bubblewrap.New(bubblewrap.Options{State: filepath.Join(dir, "s"), Guest: os.Getenv("HUB_TEST_GUEST")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	y, err := builder.New(builder.Options{Backend: b, Dir: filepath.Join(dir, "b")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() { _ = y.Run(context.Background()) }()
	root = os.Getenv("HUB_TEST_ROOT")
	_, err = y.Ensure(context.Background(), builder.Request{
		ID: claudehub.BuildID(os.Getenv("HUB_TEST_BUILD")), Recipe: recipe(gate), Explicit: true, Report: func(o wire.ObservedBuild) {
			if building(o) {
				fmt.Println("building")
			}
		},
	})
	fmt.Println(err)
	return 1
}

func TestAKilledRunnersBuildIsClearedAndBegunAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id := claudehub.NewBuildID()
	cmd := exec.CommandContext(soon(t), self)
	cmd.Env = append(os.Environ(), "HUB_TEST_RUNNER="+dir, "HUB_TEST_GUEST="+guest, "HUB_TEST_ROOT="+root, "HUB_TEST_BUILD="+string(id))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if l, err := bufio.NewReader(out).ReadString('\n'); err != nil || l != "building\n" {
		t.Fatalf("%q, %v", l, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as asked
	if err := os.MkdirAll(filepath.Join(dir, "b", "bases", ".fetch-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	y := yardAt(t, dir)
	y.until("what the killed one left to be cleared", func() bool { // while the new one already answers
		infos, err := y.backend.List(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		return len(infos)+len(y.Past()) == 0 && !exists(filepath.Join(dir, "b", "bases", ".fetch-1"))
	})
	y.empty()
	r, w := request(recipe(gate))
	r.ID = id
	a := y.async(soon(t), r)
	y.open(id)
	if o := <-a; o.err != nil || w.last().State != claudehub.BuildReady {
		t.Errorf("%+v, %+v", o, w.last())
	}
	if log := y.log(id); !strings.Contains(log, "begins again") {
		t.Errorf("the log has not its first part: %s", log)
	}
}

// TestTheLogOfABuildThatWasCutOff waits for the build to go on, but not for ever; and it is forgotten with the build.
func TestTheLogOfABuildThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, "b", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	young, old := claudehub.NewBuildID(), claudehub.NewBuildID()
	for id, age := range map[claudehub.BuildID]time.Duration{young: 6 * 24 * time.Hour, old: 8 * 24 * time.Hour} {
		path, at := filepath.Join(logs, string(id)+".log"), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, []byte("begun\n"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	y := yardAt(t, dir)
	y.until("an old log to go", func() bool { return y.LogSize(old) == 0 })
	if y.LogSize(young) == 0 {
		t.Fatal("a young log is gone")
	}
	if err := y.Forget(soon(t), young); err != nil || y.LogSize(young) != 0 {
		t.Errorf("not forgotten: %v", err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestAFailedScriptsSandboxIsKept: over a restart, for a look inside, until its time is over.
func TestAFailedScriptsSandboxIsKept(t *testing.T) {
	var late atomic.Int64
	now := func(o *builder.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	}
	y := newYard(t, now)
	r, w := request(recipe("echo what-it-left > /left\nfalse"))
	if f := y.fails(r); f.Line != 2 {
		t.Errorf("%+v", f)
	}
	if until := time.Until(w.last().Kept); until < claudehub.KeepFailed-time.Minute || until > claudehub.KeepFailed {
		t.Errorf("kept for %v", until)
	}
	y.stop()
	y = yardAt(t, y.dir, now)
	if past := y.Past(); len(past) != 1 || past[0].ID != r.ID || past[0].Kept.IsZero() || past[0].Failure == nil || past[0].Line != 2 {
		t.Errorf("%+v", past)
	}
	if !strings.Contains(y.log(r.ID), "exit code 1: false") {
		t.Errorf("the log: %s", y.log(r.ID))
	}
	box, err := y.Look(soon(t), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := y.exec(box, "cat /left; id -u"); got != "what-it-left\n0" {
		t.Errorf("inside: %q", got)
	}
	items, err := y.Storage(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range items {
		found = found || i.Kind == builder.KindKept && i.Name == string(r.ID) && i.Bytes > 1<<20
	}
	if !found {
		t.Errorf("%+v", items)
	}
	late.Store(int64(claudehub.KeepFailed + time.Second))
	if err := y.Expire(soon(t)); err != nil {
		t.Fatal(err)
	}
	y.empty()
	if _, err := y.Look(soon(t), r.ID); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("%v", err)
	}
	if past := y.Past(); len(past) != 1 || !past[0].Kept.IsZero() {
		t.Errorf("%+v", past)
	}
	if err := y.Forget(soon(t), r.ID); err != nil {
		t.Fatal(err)
	}
	if len(y.Past()) != 0 || y.LogSize(r.ID) != 0 {
		t.Error("it was not forgotten")
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	y := newYard(t)
	r, _ := request(recipe("true"))
	if _, err := y.Ensure(soon(t), r); err != nil {
		t.Fatal(err)
	}
	y.stop()
	for _, text := range []string{"", "{", "null", `{"version":99}`, "\x00"} {
		if err := os.WriteFile(filepath.Join(y.dir, "b", "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		next := yardAt(t, y.dir)
		again, _ := request(recipe("true"))
		if _, err := next.Ensure(soon(t), again); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		next.stop()
	}
	last := yardAt(t, y.dir)
	if n, err := last.Reclaim(soon(t), []string{builder.KindLeftover}, nil); err != nil || n == 0 {
		t.Errorf("%d, %v", n, err)
	}
	if images := last.images(); len(images) != 2 { // base, and the last result
		t.Errorf("left: %v", images)
	}
}
