package runner

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// maxBuilds bounds the builds that are remembered after they ended, and keepBuild how long: a Hub that was away hears of
// them then.
const (
	maxBuilds = 200
	keepBuild = 7 * 24 * time.Hour
)

// builds makes the images that the Hub asks for and those that Sessions need, and reports how far each has come. What the
// making itself is, package builder knows: of builds of one recipe it makes one.
type builds struct {
	maker   maker
	state   *State
	hub     *Hub
	reserve func(context.Context) error                       // refuses while the disk is nearly full
	mounts  func(context.Context) ([]sandbox.Mount, error)    // what a smoke test needs: Claude Code
	bound   func(wire.DesiredBuild) (claudehub.Recipe, error) // to what the machine has, and its owner allows
	changed func()                                            // something is to be reported
	log     *slog.Logger

	wake *signal

	mu      sync.Mutex
	desired []wire.DesiredBuild
	known   map[claudehub.BuildID]*build
	dirty   map[claudehub.BuildID]bool
	wakes   map[claudehub.BuildID]bool // begun for a wake that still waits
	unknown []claudehub.BuildID        // to the Hub: to be forgotten
	ignored map[claudehub.BuildID]bool // and that wants to hear no more of them
}

// maker is what package builder promises.
type maker interface {
	Run(ctx context.Context) error
	Ensure(ctx context.Context, r builder.Request) (sandbox.Image, error)
	Cancel(id claudehub.BuildID)
	Environ(hash string) []string
	Used(hash string)
	LogReader(id claudehub.BuildID, offset int64) (io.ReadCloser, error)
	LogSize(id claudehub.BuildID) int64
	Look(ctx context.Context, id claudehub.BuildID) (sandbox.ID, error)
	ReleaseKept(ctx context.Context, id claudehub.BuildID) error
	Past() []wire.ObservedBuild
	Forget(ctx context.Context, id claudehub.BuildID) error
	Storage(ctx context.Context, inUse func(sandbox.Image) int) ([]claudehub.StorageItem, error)
	Reclaim(ctx context.Context, kinds []string, inUse func(sandbox.Image) int) (int64, error)
	Collect(ctx context.Context, keep func(hash string) bool) (int64, error)
}

var _ maker = (*builder.Builder)(nil)

// build is one that the Hub has a row for, or is to make one.
type build struct {
	id   claudehub.BuildID
	more *signal // its log may have grown
	// the rest is guarded by builds.mu
	running bool // somebody is at work on it
	o       wire.ObservedBuild
	forget  context.CancelFunc // ends its upload; nil before that began
	over    bool               // forgotten
}

func newBuilds() *builds {
	return &builds{
		wake: newSignal(), known: map[claudehub.BuildID]*build{}, dirty: map[claudehub.BuildID]bool{}, wakes: map[claudehub.BuildID]bool{}, ignored: map[claudehub.BuildID]bool{},
	}
}

// remember takes up what a Runner process before this one knew.
func (b *builds) remember(ctx context.Context) error {
	m, err := b.state.Machine(ctx)
	if err != nil {
		return err
	}
	all, err := b.state.Builds(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.desired = m.Builds
	for _, o := range all {
		b.known[o.ID] = &build{id: o.ID, o: o, more: newSignal()}
		b.dirty[o.ID] = true
	}
	return nil
}

// want takes what is desired, all of it.
func (b *builds) want(all []wire.DesiredBuild) {
	b.mu.Lock()
	b.desired = all
	for _, d := range all {
		delete(b.ignored, d.ID)
	}
	b.mu.Unlock()
	b.wake.set()
}

// Run makes what is desired until ctx ends.
func (b *builds) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for ctx.Err() == nil {
		for _, upload := range b.unattended(ctx) {
			g.Go(upload)
		}
		for _, d := range b.due(ctx) {
			g.Go(func() error { b.make(ctx, d); return nil })
		}
		b.tidy(ctx)
		b.wake.wait(ctx, time.Minute)
	}
	return g.Wait()
}

// unattended returns the uploads of builds that have none yet.
func (b *builds) unattended(ctx context.Context) (uploads []func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.known {
		if k.forget != nil {
			continue
		}
		ctx, end := context.WithCancel(ctx)
		k.forget = end
		uploads = append(uploads, func() error {
			defer end()
			return b.upload(ctx, k)
		})
	}
	return uploads
}

// due takes up the desired builds that nobody is at work on, and cancels those that are not wanted any more.
func (b *builds) due(ctx context.Context) []wire.DesiredBuild {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []wire.DesiredBuild
	for _, d := range b.desired {
		k := b.known[d.ID]
		switch {
		case k == nil && b.ignored[d.ID]: // the Hub took it back since it asked
		case k != nil && k.o.State.Final():
			b.dirty[d.ID] = true // the Hub has not heard of it
			b.changed()
		case d.Cancel && (k != nil && k.running || b.wakes[d.ID]):
			b.maker.Cancel(d.ID)
		case d.Cancel:
			b.noteLocked(ctx, cancelledBuild(d))
		case b.wakes[d.ID]: // it is under way
		case k == nil || !k.running:
			b.noteLocked(ctx, queuedBuild(d))
			b.known[d.ID].running = true
			due = append(due, d)
		}
	}
	return due
}

func queuedBuild(d wire.DesiredBuild) wire.ObservedBuild {
	return wire.ObservedBuild{
		ID: d.ID, Environment: d.Environment.ID, Version: d.Environment.Version, Hash: d.Recipe.Hash(), State: claudehub.BuildQueued,
		Steps: []claudehub.BuildStep{},
	}
}

func cancelledBuild(d wire.DesiredBuild) wire.ObservedBuild {
	o := queuedBuild(d)
	o.State = claudehub.BuildCancelled
	return o
}

// make makes one desired build, whatever any Session wants.
func (b *builds) make(ctx context.Context, d wire.DesiredBuild) {
	_, err := b.ensure(ctx, d, "", nil)
	b.mu.Lock()
	if k := b.known[d.ID]; k.over {
		delete(b.known, d.ID)
	} else {
		k.running = false
	}
	b.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		b.log.Info("build ended", "build", d.ID, "error", err)
	}
}

// note keeps and reports how far a build has come. What is final stays so.
func (b *builds) note(ctx context.Context, o wire.ObservedBuild) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteLocked(ctx, o)
}

func (b *builds) noteLocked(ctx context.Context, o wire.ObservedBuild) {
	k, known := b.known[o.ID]
	if !known && b.ignored[o.ID] {
		return
	}
	if !known {
		k = &build{id: o.ID, more: newSignal()}
		b.known[o.ID] = k
	}
	if reflect.DeepEqual(k.o, o) || k.over {
		return
	}
	o.Session = cmp.Or(o.Session, k.o.Session)
	k.o = o
	b.dirty[o.ID] = true
	if err := b.state.SaveBuild(context.WithoutCancel(ctx), o); err != nil {
		b.log.Error("build not noted", "build", o.ID, "error", err)
	}
	k.more.set()
	b.changed()
	if !known {
		b.wake.set()
	}
}

// report returns the builds that changed; unreported puts them back.
func (b *builds) report() []wire.ObservedBuild {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []wire.ObservedBuild
	for id := range b.dirty {
		if k := b.known[id]; k != nil {
			all = append(all, k.o)
		}
	}
	clear(b.dirty)
	slices.SortFunc(all, func(a, z wire.ObservedBuild) int { return cmp.Compare(a.ID, z.ID) })
	return all
}

func (b *builds) unreported(all []wire.ObservedBuild) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range all {
		b.dirty[o.ID] = true
	}
}

// relinked has everything reported: the Hub may have lost it.
func (b *builds) relinked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, k := range b.known {
		b.dirty[id] = true
		k.more.set()
	}
}
