//go:build linux

package builder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// building tells that the setup script runs.
func building(o wire.ObservedBuild) bool {
	return len(o.Steps) > 2 && o.Steps[2].State == claudehub.StepRunning
}

// gate is a script that runs until the test opens it: it waits for a file that the test puts into the build's system.
const gate = "echo at the gate; until [ -e /open ]; do sleep 0.05; done; echo through\n"

// until waits for what is bound to happen.
func (y *yard) until(what string, happened func() bool) {
	y.t.Helper()
	for end := time.Now().Add(30 * time.Second); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			y.t.Fatalf("waited for %s", what)
		}
	}
}

func (y *yard) open(id claudehub.BuildID) {
	y.t.Helper()
	y.until("the Sandbox to be there", func() bool {
		return os.WriteFile(filepath.Join(y.dir, "s", string(id), "root", "open"), nil, 0o644) == nil
	})
}

type outcome struct {
	img sandbox.Image
	err error
}

func (y *yard) async(ctx context.Context, r builder.Request) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		img, err := y.Ensure(ctx, r)
		c <- outcome{img, err}
	}()
	return c
}

func TestTenWhoAskGetOneBuild(t *testing.T) {
	fetched := 0
	var mu sync.Mutex
	y := newYard(t, func(o *builder.Options) {
		o.Fetch = func(ctx context.Context, base claudehub.Base, dir string, progress func(image.Progress)) (image.Rootfs, error) {
			mu.Lock()
			fetched++
			mu.Unlock()
			return image.Fetch(ctx, base, dir, progress)
		}
	})
	rec := recipe(gate)
	first, w := request(rec)
	all := []<-chan outcome{y.async(soon(t), first)}
	w.until(t, "building", building)
	explicit, w2 := request(rec)
	all = append(all, y.async(soon(t), explicit))
	var sessions []*watcher
	for range 8 {
		r, w := request(rec)
		r.Explicit, r.Session = false, claudehub.NewSessionID()
		all = append(all, y.async(soon(t), r))
		sessions = append(sessions, w)
	}
	for _, w := range append(sessions, w2) {
		w.until(t, "joined", building)
	}
	y.open(first.ID)
	var img sandbox.Image
	for _, c := range all {
		o := <-c
		if o.err != nil || o.img == "" || img != "" && o.img != img {
			t.Errorf("%+v", o)
		}
		img = o.img
	}
	if fetched != 1 {
		t.Errorf("fetched %d times", fetched)
	}
	if o := w2.last(); o.ID != explicit.ID || o.State != claudehub.BuildReady || o.Environment != explicit.Environment.ID {
		t.Errorf("who asked for a build of its own saw %+v", o)
	}
	for _, w := range sessions {
		if o := w.last(); o.ID != first.ID || o.State != claudehub.BuildReady {
			t.Errorf("a Session saw %+v", o)
		}
	}
	if a, b := y.log(first.ID), y.log(explicit.ID); a != b || !strings.Contains(a, "through") {
		t.Errorf("logs %q and %q", a, b)
	}
}

func TestOneWhoLeavesDoesNotEndIt(t *testing.T) {
	y := newYard(t)
	rec := recipe(gate)
	first, w := request(rec)
	first.Explicit = false
	c1, leave1 := context.WithCancel(soon(t))
	defer leave1()
	a := y.async(c1, first)
	w.until(t, "building", building)
	second, w2 := request(rec)
	second.Explicit = false
	c2, leave2 := context.WithCancel(soon(t))
	defer leave2()
	b := y.async(c2, second)
	w2.until(t, "joined", building)
	leave1()
	if o := <-a; !errors.Is(o.err, context.Canceled) {
		t.Errorf("%+v", o)
	}
	y.open(first.ID)
	if o := <-b; o.err != nil {
		t.Errorf("%+v", o)
	}
}

// TestTheLastWhoLeavesEndsIt, and nothing is left.
func TestTheLastWhoLeavesEndsIt(t *testing.T) {
	y := newYard(t)
	r, w := request(recipe(gate))
	r.Explicit = false
	ctx, leave := context.WithCancel(soon(t))
	defer leave()
	a := y.async(ctx, r)
	w.until(t, "building", building)
	leave()
	if o := <-a; !errors.Is(o.err, context.Canceled) {
		t.Errorf("%+v", o)
	}
	y.empty()
	again, _ := request(recipe("true"))
	if _, err := y.Ensure(soon(t), again); err != nil {
		t.Error(err)
	}
}

// empty waits until no build is open, and fails when a Sandbox is left.
func (y *yard) empty() {
	y.t.Helper()
	for end := time.Now().Add(30 * time.Second); len(y.Open()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			y.t.Fatalf("open: %v", y.Open())
		}
	}
	if infos, err := y.backend.List(soon(y.t)); err != nil || len(infos) != 0 {
		y.t.Errorf("left: %v, %v", infos, err)
	}
}

func TestAnExplicitBuildOutlivesItsAskerUntilCancel(t *testing.T) {
	y := newYard(t)
	r, w := request(recipe(gate))
	ctx, leave := context.WithCancel(soon(t))
	a := y.async(ctx, r)
	w.until(t, "building", building)
	leave()
	<-a
	if open := y.Open(); len(open) != 1 || open[0] != r.ID {
		t.Errorf("open: %v", open)
	}
	waiting, w2 := request(recipe(gate))
	b := y.async(soon(t), waiting)
	w2.until(t, "joined", building)
	y.Cancel(claudehub.NewBuildID()) // another's
	y.Cancel(waiting.ID)
	o := <-b
	var f *builder.Failed
	if !errors.As(o.err, &f) || !f.Cancelled || claudehub.CodeOf(o.err) != claudehub.Conflict {
		t.Errorf("%+v", o)
	}
	for _, w := range []*watcher{w, w2} {
		if o := w.last(); o.State != claudehub.BuildCancelled || !o.Kept.IsZero() || o.Failure != nil {
			t.Errorf("%+v", o)
		}
	}
	y.empty()
	if log := y.log(r.ID); !strings.HasSuffix(log, "\n!! The build was cancelled.\n") {
		t.Errorf("the log: %s", log)
	}
	// Who asks again with the same id is told again, and nothing is built.
	again := r
	w3 := &watcher{}
	again.Report = w3.report
	if _, err := y.Ensure(soon(t), again); !errors.As(err, &f) || !f.Cancelled || w3.last().State != claudehub.BuildCancelled {
		t.Errorf("%v, %+v", err, w3.last())
	}
}

func TestCancelWhileItWaitsForItsTurn(t *testing.T) {
	y := newYard(t, func(o *builder.Options) { o.Parallel = 1 })
	first, w := request(recipe(gate))
	a := y.async(soon(t), first)
	w.until(t, "building", building)
	second, w2 := request(recipe("true"))
	b := y.async(soon(t), second)
	w2.until(t, "queued", func(o wire.ObservedBuild) bool { return o.State == claudehub.BuildQueued })
	y.Cancel(second.ID)
	if o := <-b; o.err == nil {
		t.Errorf("%+v", o)
	}
	if o := w2.last(); o.State != claudehub.BuildCancelled {
		t.Errorf("%+v", o)
	}
	y.open(first.ID)
	if o := <-a; o.err != nil {
		t.Error(o.err)
	}
}

// TestARecipeThatChangesDuringItsBuild: the build that runs is of the old one and ends as such.
func TestARecipeThatChangesDuringItsBuild(t *testing.T) {
	y := newYard(t)
	old, w := request(recipe(gate))
	a := y.async(soon(t), old)
	w.until(t, "building", building)
	changed := old
	changed.ID, changed.Recipe = claudehub.NewBuildID(), recipe("echo new > /new")
	changed.Environment.Version = 2
	w2 := &watcher{}
	changed.Report = w2.report
	newer, err := y.Ensure(soon(t), changed)
	if err != nil {
		t.Fatal(err)
	}
	y.open(old.ID)
	o := <-a
	if o.err != nil || o.img == newer {
		t.Errorf("%+v", o)
	}
	if w.last().Hash == w2.last().Hash || w.last().Version != 1 || w2.last().Version != 2 {
		t.Errorf("%+v, %+v", w.last(), w2.last())
	}
	if got := y.inside(newer, "cat /new"); got != "new" {
		t.Errorf("got %q", got)
	}
}

func TestAgainBuildsAnew(t *testing.T) {
	y := newYard(t)
	first, _ := request(recipe("true"))
	a, err := y.Ensure(soon(t), first)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := request(recipe("true"))
	again.Again = true
	b, err := y.Ensure(soon(t), again)
	if err != nil || a == b {
		t.Errorf("%q, %q, %v", a, b, err)
	}
	// The Hub repeats what it has no answer to.
	if c, err := y.Ensure(soon(t), again); err != nil || c != b {
		t.Errorf("%q, %v", c, err)
	}
	plain, _ := request(recipe("true"))
	if c, err := y.Ensure(soon(t), plain); err != nil || c != b {
		t.Errorf("%q, %v", c, err)
	}
}

func TestTheMachinesOwnSystemNeedsNoBuild(t *testing.T) {
	y := newYard(t)
	r, w := request(claudehub.DefaultRecipe())
	img, err := y.Ensure(soon(t), r)
	if err != nil || img != "" || w.last().State != claudehub.BuildReady || len(y.images()) != 0 {
		t.Errorf("%q, %v, %+v", img, err, w.last())
	}
	rec := claudehub.DefaultRecipe()
	rec.Setup, rec.Memory = "echo x > /made", 1<<30
	scripted, _ := request(rec)
	if img, err = y.Ensure(soon(t), scripted); err != nil || y.inside(img, "cat /made") != "x" {
		t.Errorf("with a script: %q, %v", img, err)
	}
	none := newYard(t, func(o *builder.Options) { o.DefaultBase = claudehub.Base{} })
	third, _ := request(rec)
	if f := none.fails(third); !strings.Contains(f.Failure.Fix, "Choose a base image") {
		t.Errorf("%+v", f.Failure)
	}
}

func TestAnIdThatIsNone(t *testing.T) {
	y := newYard(t)
	for _, id := range []claudehub.BuildID{"", "../../x", "bld_x"} {
		r, _ := request(recipe("true"))
		r.ID = id
		if _, err := y.Ensure(soon(t), r); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := y.LogReader(id, 0); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestABuilderThatStopsEndsItsBuilds, and one that starts begins them anew; their logs go on, since the Hub has some of them.
func TestABuilderThatStopsEndsItsBuilds(t *testing.T) {
	y := newYard(t)
	r, w := request(recipe(gate))
	a := y.async(soon(t), r)
	w.until(t, "building", building)
	y.until("the script to begin", func() bool { return strings.Contains(y.logNow(r.ID), "at the gate") })
	y.stop()
	if o := <-a; claudehub.CodeOf(o.err) != claudehub.Unavailable {
		t.Errorf("%+v", o)
	}
	y.empty()
	if _, err := y.Ensure(soon(t), r); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("%v", err)
	}
	if o := w.last(); o.State.Final() {
		t.Errorf("it is said to be %s", o.State)
	}
	before := y.log(r.ID)
	if !strings.Contains(before, "at the gate") || strings.Contains(before, "!!") {
		t.Errorf("the log says %q", before)
	}
	next := yardAt(t, y.dir)
	b := next.async(soon(t), r)
	next.open(r.ID)
	if o := <-b; o.err != nil {
		t.Errorf("%+v", o)
	}
	after, ok := strings.CutPrefix(next.log(r.ID), before)
	if !ok || !strings.Contains(after, "begins again") || !strings.Contains(after, "through") {
		t.Errorf("the log that began %q goes on %q", before, after)
	}
}

// TestARegistryThatIsAway: what was fetched before is used, and the log says so.
func TestARegistryThatIsAway(t *testing.T) {
	away := false
	y := newYard(t, func(o *builder.Options) {
		o.Identify = func(context.Context, claudehub.Base) (string, error) {
			if away {
				return "", claudehub.Errorf(claudehub.Unavailable, "The registry did not answer. Check the network.")
			}
			return "sha256:of-the-registry", nil
		}
		o.Fetch = func(ctx context.Context, _ claudehub.Base, dir string, progress func(image.Progress)) (image.Rootfs, error) {
			return image.Fetch(ctx, claudehub.Base{Kind: claudehub.BaseDirectory, Ref: root}, dir, progress)
		}
	})
	rec := recipe("true")
	rec.Base = claudehub.Base{Kind: claudehub.BaseRegistry, Ref: "example.org/base:1"}
	r, _ := request(rec)
	y.must(r)
	away = true
	rec.Setup = "echo more\r\necho crlf\r\n"
	r, w := request(rec)
	y.must(r)
	if log := y.log(r.ID); !strings.Contains(log, "The copy that is here is used") || w.last().Steps[0].State != claudehub.StepCached || !strings.Contains(log, "more\ncrlf\n") {
		t.Errorf("%s\n%+v", log, w.last())
	}
	rec.Base.Ref = "example.org/other:1"
	r, _ = request(rec)
	if f := y.fails(r); !strings.Contains(f.Failure.Reason, "did not answer") || !f.Failure.Retry {
		t.Errorf("%+v", f.Failure)
	}
}
