package runner

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// session makes one Session be what is desired. Its loop looks at the desired state, does what is missing, and looks
// again when anything changes: there is no command that could be lost.
type session struct {
	id  claudehub.SessionID
	dir string // holds its volumes
	on  *parts
	log *slog.Logger

	changed *signal // something to look at
	screen  *screen
	inputs  *inputs
	// restarts that nobody asked for; of the loop's goroutine
	restarts []time.Time
	// when the last Turn ended; of the loop's goroutine
	turnEndedAt time.Time

	mu       sync.Mutex
	desired  wire.DesiredSession
	local    Local
	observed claudehub.Observed
	give     context.CancelFunc // ends the work under way, since it is no longer wanted
	seat     *seat              // the attached terminal; nil while there is none
}

// parts are what every Session of a Runner shares.
type parts struct {
	cfg     Config
	state   *State
	hub     *Hub
	outbox  *signal
	observe func(claudehub.SessionID) // an observed state changed
	places  *places                   // bounds how many are prepared at once

	pasteTime, illTime time.Duration // see the constants
}

func newSession(r Record, on *parts, log *slog.Logger) *session {
	id := r.Desired.ID
	s := &session{
		id: id, dir: filepath.Join(on.cfg.Dir, "sessions", string(id)), on: on, log: log.With("session", id),
		changed: newSignal(), desired: r.Desired, local: r.Local, observed: r.Observed, give: func() {},
	}
	if s.observed.Phase == "" {
		s.observed = claudehub.Observed{Phase: claudehub.PhaseNew, Since: now()}
	}
	s.screen = newScreen(id, on.hub, s.log, s.requestSnapshot)
	s.inputs = newInputs(s)
	return s
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func (s *session) box() sandbox.ID { return sandbox.ID(s.id) }

// want takes a newer desired state.
func (s *session) want(d wire.DesiredSession) {
	s.mu.Lock()
	stale := d.Desired != s.desired.Desired
	s.desired = d
	give := s.give
	s.mu.Unlock()
	if stale {
		give()
	}
	s.changed.set()
}

func (s *session) wanted() wire.DesiredSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desired
}

// facts returns what the Runner knows of the Session; learn changes it, on disk before it returns.
func (s *session) facts() Local {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.local
}

func (s *session) learn(ctx context.Context, change func(*Local)) error {
	s.mu.Lock()
	change(&s.local)
	l := s.local
	s.mu.Unlock()
	return s.on.state.SaveLocal(ctx, s.id, l)
}

// saw returns the observed state; see changes it and reports it.
func (s *session) saw() claudehub.Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observed
}

func (s *session) see(ctx context.Context, change func(*claudehub.Observed)) {
	s.mu.Lock()
	old := s.observed
	change(&s.observed)
	if s.observed.Phase != old.Phase || s.observed.Activity != old.Activity {
		s.observed.Since = now()
	}
	o := s.observed
	s.mu.Unlock()
	if reflect.DeepEqual(o, old) {
		return
	}
	if err := s.on.state.SaveObserved(ctx, s.id, o); err != nil && ctx.Err() == nil {
		s.log.Error("observed state not saved", "error", err)
	}
	s.on.observe(s.id)
}

// Run reconciles until ctx ends. Ending it stops nothing in the Sandbox: the next Runner process goes on from there.
func (s *session) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		d, work, give := s.begin(ctx)
		settled := s.reconcile(work, d)
		give()
		if ctx.Err() == nil && settled {
			s.changed.wait(ctx, time.Minute)
		}
	}
	return nil
}

// begin takes up the desired state, with a context that ends when something else is desired. Both are taken under one
// lock: a change in between would cancel nothing and never be seen.
func (s *session) begin(ctx context.Context) (wire.DesiredSession, context.Context, context.CancelFunc) {
	work, give := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give = give
	return s.desired, work, give
}

// reconcile does what is missing for d. It answers false when it should be called again at once.
func (s *session) reconcile(ctx context.Context, d wire.DesiredSession) (settled bool) {
	s.receivePrompts(ctx, d)
	o := s.saw()
	if o.Phase == claudehub.PhaseFailed && o.Generation == d.Generation && d.Desired == claudehub.WantAwake && !s.mended(ctx, o) {
		return true // the person has the word; a retry comes with a new generation
	}
	switch d.Desired {
	case claudehub.WantAwake:
		return s.beAwake(ctx, d)
	case claudehub.WantAsleep:
		return s.beStopped(ctx, d, claudehub.PhaseAsleep)
	case claudehub.WantArchived:
		return s.beStopped(ctx, d, claudehub.PhaseArchived)
	default:
		s.log.Error("unknown desired state", "desired", d.Desired)
		return true
	}
}

// mended tells that a failure's cause is gone without the person's retry: the setup token has come.
func (s *session) mended(ctx context.Context, o claudehub.Observed) bool {
	return o.Failure != nil && o.Failure.Step == stepToken && s.on.cfg.hasToken(ctx)
}

// beAwake brings the Session up and tends it for as long as it is wanted awake.
func (s *session) beAwake(ctx context.Context, d wire.DesiredSession) (settled bool) {
	err := s.wake(ctx, d)
	if err == nil {
		err = s.tend(ctx, d)
	}
	s.leaveSeat()
	switch {
	case err == nil, ctx.Err() != nil:
		return false // wanted otherwise, or something ended that the next look brings back
	default:
		s.fail(ctx, d, err)
		return true
	}
}

// fail shows why the Session is not what it should be.
func (s *session) fail(ctx context.Context, d wire.DesiredSession, err error) {
	f := failureOf(err, s.saw().Step)
	s.log.Warn("Session failed", "step", f.Step, "error", err)
	s.see(ctx, func(o *claudehub.Observed) {
		*o = claudehub.Observed{
			Phase: claudehub.PhaseFailed, Generation: d.Generation, Failure: f, Notice: o.Notice, Since: o.Since,
			SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now()},
		}
	})
}

// beStopped stops the Sandbox and says so.
func (s *session) beStopped(ctx context.Context, d wire.DesiredSession, phase claudehub.Phase) (settled bool) {
	o := s.saw()
	if o.Phase == phase && o.Generation == d.Generation {
		return true
	}
	if o.Phase != claudehub.PhaseAsleep && o.Phase != claudehub.PhaseArchived {
		if err := s.stop(ctx); err != nil {
			if ctx.Err() != nil {
				return false
			}
			s.fail(ctx, d, err)
			return true
		}
	}
	if phase == claudehub.PhaseArchived {
		if err := s.on.cfg.Backend.Remove(ctx, s.box()); err != nil {
			if ctx.Err() != nil {
				return false
			}
			s.fail(ctx, d, err)
			return true
		}
	}
	s.see(ctx, func(o *claudehub.Observed) {
		*o = claudehub.Observed{
			Phase: phase, Generation: d.Generation, Doing: o.Doing, Notice: o.Notice,
			SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now()}, Since: o.Since,
		}
	})
	return true
}
