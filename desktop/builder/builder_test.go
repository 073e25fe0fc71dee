//go:build linux

package builder_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// yard is a Builder on a real Backend, that runs until the test's end.
type yard struct {
	*builder.Builder
	t       testing.TB
	dir     string
	backend *bubblewrap.Backend
	stop    func()
}

// smoke stands for Claude Code's program in tests of the Builder.
var smoke = sandbox.Command{Path: "/opt/claude-hub/claude", Args: []string{"--version"}}

func newYard(t testing.TB, change ...func(*builder.Options)) *yard {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return yardAt(t, dir, change...)
}

func yardAt(t testing.TB, dir string, change ...func(*builder.Options)) *yard {
	t.Helper()
	b, err := bubblewrap.New(bubblewrap.Options{State: filepath.Join(dir, "s"), Guest: guest})
	if err != nil {
		t.Fatal(err)
	}
	o := builder.Options{Backend: b, Dir: filepath.Join(dir, "b"), DefaultBase: claudehub.Base{Kind: claudehub.BaseDirectory, Ref: root}}
	for _, f := range change {
		f(&o)
	}
	y := &yard{t: t, dir: dir, backend: b}
	if y.Builder, err = builder.New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- y.Run(ctx) }()
	y.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		y.stop()
		y.nothingRuns()
		infos, err := b.List(context.Background())
		if err != nil {
			t.Error(err)
		}
		for _, i := range infos {
			if err := b.Remove(context.Background(), i.ID); err != nil {
				t.Error(err)
			}
		}
	})
	return y
}

// nothingRuns fails when a Sandbox does.
func (y *yard) nothingRuns() {
	y.t.Helper()
	infos, err := y.backend.List(context.Background())
	if err != nil {
		y.t.Error(err)
	}
	for _, i := range infos {
		if i.State != sandbox.Stopped {
			y.t.Errorf("%s is %s", i.ID, i.State)
		}
	}
}

// watcher keeps what a Report told.
type watcher struct {
	mu   sync.Mutex
	seen []wire.ObservedBuild
}

func (w *watcher) report(o wire.ObservedBuild) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, o)
}

func (w *watcher) last() wire.ObservedBuild {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return wire.ObservedBuild{}
	}
	return w.seen[len(w.seen)-1]
}

// until waits for a report.
func (w *watcher) until(t testing.TB, what string, is func(wire.ObservedBuild) bool) wire.ObservedBuild {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		i := slices.IndexFunc(w.seen, is)
		if i >= 0 {
			o := w.seen[i]
			w.mu.Unlock()
			return o
		}
		w.mu.Unlock()
	}
	t.Fatalf("%s: it came to %+v", what, w.last())
	return wire.ObservedBuild{}
}

func recipe(setup string) claudehub.Recipe {
	r := claudehub.DefaultRecipe()
	r.Base, r.Setup = claudehub.Base{Kind: claudehub.BaseDirectory, Ref: root}, setup
	r.Memory = 1 << 30
	return r
}

func request(r claudehub.Recipe) (builder.Request, *watcher) {
	w := &watcher{}
	return builder.Request{
		ID: claudehub.NewBuildID(), Recipe: r, Report: w.report, Explicit: true,
		Environment: claudehub.EnvironmentRef{ID: claudehub.NewEnvironmentID(), Version: 1, Name: "Test"},
	}, w
}

// log is that of a build that does not run.
func (y *yard) log(id claudehub.BuildID) string {
	y.t.Helper()
	log := y.logNow(id)
	if int64(len(log)) != y.LogSize(id) {
		y.t.Errorf("the log has %d bytes, and LogSize is %d", len(log), y.LogSize(id))
	}
	return log
}

func (y *yard) logNow(id claudehub.BuildID) string {
	y.t.Helper()
	r, err := y.LogReader(id, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		y.t.Fatal(err)
	}
	return string(raw)
}

// fails builds what must not succeed.
func (y *yard) fails(r builder.Request) *builder.Failed {
	y.t.Helper()
	img, err := y.Ensure(soon(y.t), r)
	var f *builder.Failed
	if !errors.As(err, &f) {
		y.t.Fatalf("%q, %v", img, err)
	}
	if f.Failure.Reason == "" || f.Failure.Fix == "" || f.Failure.Step == "" {
		y.t.Errorf("it does not say enough: %+v", f.Failure)
	}
	y.nothingRuns()
	return f
}

// inside runs a script in a Sandbox made of an Image.
func (y *yard) inside(img sandbox.Image, script string) string {
	y.t.Helper()
	ctx := soon(y.t)
	if err := y.backend.Start(ctx, sandbox.Spec{ID: "inside", Image: img}); err != nil {
		y.t.Fatal(err)
	}
	defer func() {
		if err := y.backend.Remove(ctx, "inside"); err != nil {
			y.t.Error(err)
		}
	}()
	return y.exec("inside", script)
}

func (y *yard) exec(id sandbox.ID, script string) string {
	y.t.Helper()
	ctx := soon(y.t)
	p, err := y.backend.Exec(ctx, id, sandbox.Command{Path: "sh", Args: []string{"-c", "exec 2>&1; " + script}, Dir: "/"})
	if err != nil {
		y.t.Fatal(err)
	}
	defer p.Close()
	_ = p.Stdin().Close()
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		y.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestABuildFromTheStartAndAgain(t *testing.T) {
	y := newYard(t)
	r, w := request(recipe("echo hello from $0 as $(id -u)\necho made > /etc/made\nmkdir -p /opt/mine; chown 33:44 /opt/mine\n"))
	img, err := y.Ensure(soon(t), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, y.log(r.ID))
	}
	o := w.last()
	t.Logf("%+v\n%s", o, y.log(r.ID))
	if o.State != claudehub.BuildReady || o.ID != r.ID || o.Hash != r.Recipe.Hash() {
		t.Errorf("%+v", o)
	}
	for _, s := range o.Steps {
		if s.State != claudehub.StepDone || s.Started.IsZero() || s.Ended.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	if got := y.inside(img, "cat /etc/made; id -un; (echo x > /etc/made) && echo WRITTEN"); !strings.HasPrefix(got, "made\n") || strings.Contains(got, "WRITTEN") {
		t.Errorf("inside: %q", got)
	}
	again, w2 := request(recipe(r.Recipe.Setup))
	if got, err := y.Ensure(soon(t), again); err != nil || got != img {
		t.Errorf("%q, %v", got, err)
	}
	if o := w2.last(); o.State != claudehub.BuildReady || o.Steps[0].State != claudehub.StepCached {
		t.Errorf("%+v", o)
	}
	other, w3 := request(recipe("true"))
	if _, err := y.Ensure(soon(t), other); err != nil {
		t.Fatal(err)
	}
	if o := w3.last(); o.Steps[1].State != claudehub.StepCached || o.Steps[2].State != claudehub.StepDone {
		t.Errorf("%+v", o.Steps)
	}
}
