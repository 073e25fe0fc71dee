package screen

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Fleet is what this room needs from hub/fleet.
type Fleet interface {
	Attach(ctx context.Context, r claudehub.RunnerID, a wire.Attach) error
	Detach(ctx context.Context, r claudehub.RunnerID, d wire.Detach) error
	SendInput(ctx context.Context, p claudehub.PersonID, in wire.Input) error
	SendResize(ctx context.Context, p claudehub.PersonID, r wire.Resize) error

	// Watchers are the people who have a terminal of a Session open, at whichever Hub; OnPresence calls when they are others.
	Watchers(ctx context.Context, id claudehub.SessionID) []claudehub.Face
	OnPresence(fn func(claudehub.SessionID)) (stop func())
}

// Bus is what this room needs from hub/bus.
type Bus interface {
	Publish(subject wire.Subject, kind string, data []byte) error
	Subscribe(subject wire.Subject, f func(kind string, data []byte)) (unsubscribe func(), err error)
}

// KindFrame is the kind of a bus message that holds one encoded wire.Frame.
const KindFrame = "frame"

// Options are what New needs.
type Options struct {
	Fleet Fleet
	Bus   Bus
	Log   *slog.Logger
	// Linger is how long a feed without viewers stays, so that a reload is cheap. Zero means 10 s.
	Linger time.Duration
}

const (
	callTimeout  = 5 * time.Second
	renewEvery   = wire.AttachLife / 3
	lingerTime   = 10 * time.Second
	retryFirst   = time.Second
	retryMost    = 8 * time.Second
	resizeEvery  = 100 * time.Millisecond
	history      = 1000 // lines of scrollback in a snapshot
	maxViewers   = 200  // of one Session in one Hub process
	maxTexts     = 128  // texts that wait for one viewer
	maxCoalesced = 64 << 10
	pastLives    = 8
)

// Stats are counts since the start, for metrics.
type Stats struct {
	Feeds, Viewers int
	Behind         uint64 // times that a viewer fell behind and was cut to a snapshot
	Gaps           uint64 // times that a feed missed output and asked anew
	Bytes          uint64 // handed to viewers
}

// Feeds are all feeds of this Hub process, one per Session that someone watches.
type Feeds struct {
	opt     Options
	start   chan *feed
	stopped chan struct{}

	behind, gaps, bytes atomic.Uint64

	mu    sync.Mutex // taken before a feed's
	feeds map[claudehub.SessionID]*feed
}

// New makes Feeds; nobody can watch before Run runs.
func New(opt Options) *Feeds {
	if opt.Linger == 0 {
		opt.Linger = lingerTime
	}
	return &Feeds{
		opt:     opt,
		start:   make(chan *feed),
		stopped: make(chan struct{}),
		feeds:   map[claudehub.SessionID]*feed{},
	}
}

// Run owns the loops of all feeds. After ctx it ends all viewers and returns when the loops have ended.
func (fs *Feeds) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(fs.stopped)
	defer fs.opt.Fleet.OnPresence(fs.present)()
	for {
		select {
		case f := <-fs.start:
			wg.Go(func() { f.run(ctx) })
		case <-ctx.Done():
			return nil
		}
	}
}

// Publish hands a Frame that a Runner posted to whoever watches, in this Hub process or another.
func (fs *Feeds) Publish(id claudehub.SessionID, f wire.Frame) error {
	subject, err := wire.ScreenSubject(id)
	if err != nil {
		return err
	}
	b, err := wire.AppendFrame(make([]byte, 0, len(f.Data)+wire.FrameHeader), f)
	if err != nil {
		return claudehub.WithCause(claudehub.Invalid, err, "That screen frame is not valid.")
	}
	return fs.opt.Bus.Publish(subject, KindFrame, b)
}

// Join adds a viewer of a Session; the caller has checked that the person may watch. Leave ends it.
func (fs *Feeds) Join(ctx context.Context, s claudehub.Session, w Who) (*Viewer, error) {
	if err := w.valid(); err != nil {
		return nil, err
	}
	for {
		f, made, err := fs.feed(s)
		if err != nil {
			return nil, err
		}
		v, err := f.join(w)
		if err != nil {
			return nil, err
		}
		if made {
			select {
			case fs.start <- f:
			case <-fs.stopped:
				f.end(errStopping)
				return nil, errStopping
			case <-ctx.Done():
				f.end(errStopping)
				return nil, ctx.Err()
			}
		}
		if v != nil {
			return v, nil
		}
		// The feed ended between the two steps: the next one is new.
	}
}

func (fs *Feeds) feed(s claudehub.Session) (f *feed, made bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.feeds[s.ID]; f != nil {
		return f, false, nil
	}
	subject, err := wire.ScreenSubject(s.ID)
	if err != nil {
		return nil, false, err
	}
	f = newFeed(fs, s, subject)
	fs.feeds[s.ID] = f
	return f, true, nil
}

func (fs *Feeds) forget(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.feeds[f.session] == f {
		delete(fs.feeds, f.session)
	}
}

// Links tells all viewers of a Session how its hops are. When the Runner's link comes up, its screen is asked anew.
func (fs *Feeds) Links(id claudehub.SessionID, runner, sandbox claudehub.Link) {
	fs.mu.Lock()
	f := fs.feeds[id]
	fs.mu.Unlock()
	if f != nil {
		f.links(runner, sandbox)
	}
}

// present tells all viewers of a Session who else watches.
func (fs *Feeds) present(id claudehub.SessionID) {
	fs.mu.Lock()
	f := fs.feeds[id]
	fs.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stateLocked()
}

// Stats reads the counts.
func (fs *Feeds) Stats() Stats {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	s := Stats{Feeds: len(fs.feeds), Behind: fs.behind.Load(), Gaps: fs.gaps.Load(), Bytes: fs.bytes.Load()}
	for _, f := range fs.feeds {
		f.mu.Lock()
		s.Viewers += len(f.viewers)
		f.mu.Unlock()
	}
	return s
}
