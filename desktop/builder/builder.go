package builder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Options say where things are and how long they may take. Backend and Dir are needed.
type Options struct {
	Backend sandbox.Backend
	// Dir is the folder for records, logs and half-fetched images.
	Dir string
	// DefaultBase is what a recipe's default base means where a base is needed: with a Backend that NeedsBase, and for a
	// setup script.
	DefaultBase claudehub.Base
	// Smoke are commands that must succeed in a Sandbox made of a new Image, besides the tools' own: "claude --version".
	Smoke []sandbox.Command

	// Fetch and Identify are package image's; nil for those.
	Fetch    func(ctx context.Context, base claudehub.Base, dir string, progress func(image.Progress)) (image.Rootfs, error)
	Identify func(ctx context.Context, base claudehub.Base) (string, error)

	Limit    time.Duration // of one build; zero is claudehub.BuildLimit
	Keep     time.Duration // of a failed one's Sandbox; zero is claudehub.KeepFailed
	Parallel int           // builds at a time; zero is two
	Patience float64       // multiplies deadlines, but for Limit and Keep, on a slow machine; zero is one
	Log      *slog.Logger  // nil is slog.Default
	Now      func() time.Time
}

// Request asks for the Image of a recipe.
type Request struct {
	// ID is the build's, should one be needed: the Hub's, or a new one.
	ID          claudehub.BuildID
	Environment claudehub.EnvironmentRef
	Recipe      claudehub.Recipe
	// Session is for which it is asked, if for one.
	Session claudehub.SessionID
	// Explicit is a build that a person asked for. It goes on when the asker's context ends, until Cancel; and its Report
	// has its own ID, also when it joined another build.
	Explicit bool
	// Again builds although there is an Image.
	Again bool
	// Mounts are what the test of the new Image needs: Claude Code's program.
	Mounts []sandbox.Mount
	// Variables are asked for right before the setup script, and forgotten after it. secrets are values that must not be
	// in the log. nil is none.
	Variables func(ctx context.Context) (env, secrets []string, err error)
	// Report is told each change, one at a time, and must be quick. nil is nobody. One that joined a build of another gets
	// that build's ID, unless it is Explicit.
	Report func(wire.ObservedBuild)
}

// Builder makes Images.
type Builder struct {
	o     Options
	state *state

	wake  chan struct{} // holds a token when there is something in pending
	slots chan struct{}
	bases keyed        // base images that are being fetched, and tools being put into them
	using sync.RWMutex // read-locked by builds: Images that they may start from are not removed meanwhile

	mu      sync.Mutex
	running map[string]*job // by hash
	pending []*job          // of running: those that Run has not begun
	stopped bool            // Run has ended
}

// New makes a Builder. It starts nothing; a folder that cannot be used is an error.
func New(o Options) (*Builder, error) {
	if o.Fetch == nil {
		o.Fetch = image.Fetch
	}
	if o.Identify == nil {
		o.Identify = image.Identify
	}
	if o.Limit <= 0 {
		o.Limit = claudehub.BuildLimit
	}
	if o.Keep <= 0 {
		o.Keep = claudehub.KeepFailed
	}
	if o.Patience < 1 {
		o.Patience = 1
	}
	if o.Parallel <= 0 {
		o.Parallel = 2
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, dir := range []string{o.Dir, filepath.Join(o.Dir, "logs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, claudehub.WithCause(claudehub.Unavailable, err, "The folder for builds, %s, cannot be made. Check who owns its parent.", dir)
		}
	}
	s, err := openState(filepath.Join(o.Dir, "state.json"))
	if err != nil {
		return nil, err
	}
	return &Builder{
		o: o, state: s, wake: make(chan struct{}, 1), slots: make(chan struct{}, o.Parallel),
		running: map[string]*job{},
	}, nil
}

// tidyEvery is how often Run looks for kept Sandboxes whose time is over.
const tidyEvery = time.Minute

// Run clears what a killed Runner left, makes what Ensure asks for, and removes kept Sandboxes in time, until ctx ends.
// Builds that run then are ended and cleared away. It returns once all that is done.
func (b *Builder) Run(ctx context.Context) error {
	var builds sync.WaitGroup
	defer builds.Wait()
	defer b.stop()
	if err := b.recover(ctx); err != nil {
		b.o.Log.Error("what earlier builds left could not be cleared away", "error", err)
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
			for _, j := range b.take() {
				builds.Go(func() { b.build(ctx, j) })
			}
		case <-tick.C:
			if err := b.expire(ctx); err != nil && ctx.Err() == nil {
				b.o.Log.Error("a kept Sandbox could not be removed", "error", err)
			}
		}
	}
}

// take are the jobs that nobody has begun.
func (b *Builder) take() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pending
	b.pending = nil
	return p
}

// stop refuses what was not begun, and whatever is asked for from now on.
func (b *Builder) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	for _, j := range b.take() {
		b.finish(j, "", errStopping())
	}
}

func errStopping() error {
	return claudehub.Errorf(claudehub.Unavailable, "The Runner is stopping. The Environment is built when it is back.")
}

// Ensure returns the Image of a recipe, and makes it if it is not there. It is "" for the machine's own system. An error
// is a *Failed, but for the context's own and for a Builder that has ended.
func (b *Builder) Ensure(ctx context.Context, r Request) (sandbox.Image, error) {
	if !r.Recipe.Builds() && !b.o.Backend.NeedsBase() {
		r.tell(r.observed(claudehub.BuildReady))
		return "", nil
	}
	if _, err := claudehub.ParseBuildID(string(r.ID)); err != nil {
		return "", err
	}
	hash := r.Recipe.Hash()
	// Whoever asked may have missed how it ended.
	if past := b.state.final(r.ID); past != nil {
		img, ok := b.state.image(past.Observed.Hash)
		if past.Observed.State != claudehub.BuildReady {
			r.tell(past.Observed)
			return "", failedOf(past.Observed)
		}
		if ok && past.Observed.Hash == hash {
			r.tell(past.Observed)
			return img.Image, nil
		}
	}
	a := &asker{r: r}
	j, err := b.join(ctx, hash, a)
	if err != nil {
		return "", err
	}
	if j == nil {
		img, _ := b.state.image(hash)
		o := r.observed(claudehub.BuildReady)
		o.Steps = cachedSteps()
		r.tell(o)
		return img.Image, nil
	}
	select {
	case <-j.done:
		return j.image, j.err
	case <-ctx.Done():
		j.leave(a)
		return "", context.Cause(ctx)
	}
}

// join finds the build of a hash or begins one; nil when the Image is there already.
func (b *Builder) join(ctx context.Context, hash string, a *asker) (*job, error) {
	for {
		b.mu.Lock()
		j := b.running[hash]
		if j != nil {
			b.mu.Unlock()
			if j.join(a) {
				return j, nil
			}
			select { // it is ending: its successor is not
			case <-j.done:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if _, ok := b.state.image(hash); ok && !a.r.Again && check(a.r.Recipe) == nil {
			b.mu.Unlock()
			return nil, nil
		}
		if b.stopped {
			b.mu.Unlock()
			return nil, errStopping()
		}
		j = newJob(a, b.o.Now)
		b.running[hash] = j
		b.pending = append(b.pending, j)
		b.mu.Unlock()
		select {
		case b.wake <- struct{}{}:
		default:
		}
		return j, nil
	}
}

// finish ends a job for all who wait.
func (b *Builder) finish(j *job, img sandbox.Image, err error) {
	b.mu.Lock()
	if b.running[j.hash] == j {
		delete(b.running, j.hash)
	}
	b.mu.Unlock()
	j.finish(img, err)
}

var errCancelled = errors.New("the build was cancelled")

// Cancel ends a build, for everyone who waits for it. One that does not run is left as it is.
func (b *Builder) Cancel(id claudehub.BuildID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.running {
		if j.has(id) {
			j.cancel(errCancelled)
		}
	}
}

// Open tells the builds that run or wait, by the ids they were asked for with.
func (b *Builder) Open() []claudehub.BuildID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []claudehub.BuildID
	for _, j := range b.running {
		ids = append(ids, j.ids()...)
	}
	return ids
}

// Environ are the environment variables that a hash's base image sets for its programs: PATH, say. A Session's own
// belong over them.
func (b *Builder) Environ(hash string) []string {
	img, _ := b.state.image(hash)
	return img.Env
}

// Used notes that a Session starts from the Image of a hash now.
func (b *Builder) Used(hash string) {
	if err := b.state.use(hash, b.o.Now()); err != nil {
		b.o.Log.Error("the use of an Image could not be noted", "error", err)
	}
}

// keyed are locks by name.
type keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func (k *keyed) lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		if k.held == nil {
			k.held = map[string]chan struct{}{}
		}
		held := k.held[name]
		if held == nil {
			mine := make(chan struct{})
			k.held[name] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, name)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the same base image: %w", context.Cause(ctx))
		}
	}
}
