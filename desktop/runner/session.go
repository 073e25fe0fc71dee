package runner

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// session makes one Session be what is desired. Its loop looks at the desired state, does what is missing, and looks
// again when anything changes: there is no command that could be lost.
type session struct {
	id      claudehub.SessionID
	creator claudehub.PersonID // who alone drives it, as the Hub named them first
	dir     string             // holds its volumes
	on      *parts
	log     *slog.Logger

	changed *signal       // something to look at
	slept   chan struct{} // a token: the machine slept
	screen  *screen
	inputs  *inputs
	ports   *ports
	// restarts that nobody asked for; of the loop's goroutine
	restarts []time.Time
	// of the loop's goroutine: when the last Turn ended, and whether Claude said so; how long the transcript was when it
	// began
	turnEndedAt time.Time
	turnTold    bool
	turnFrom    int64

	mu       sync.Mutex
	desired  wire.DesiredSession
	local    Local
	observed claudehub.Observed
	give     context.CancelFunc // ends the work under way, since it is no longer wanted
	seat     *seat              // the attached terminal; nil while there is none
	// variables are held from a wake to the next sleep; nil while they are not
	variables *wire.Variables
	ending    error              // why the Session must be stopped, to be taken by its loop
	told      map[string]string  // notices that stay true, by what they are about
	end       context.CancelFunc // ends the loops; nil before they run
	retired   bool               // they shall not run

	stray atomic.Bool // the Hub does not know it

	meter meter
}

// parts are what every Session of a Runner shares.
type parts struct {
	cfg     Config
	state   *State
	hub     *Hub
	outbox  *signal
	observe func(claudehub.SessionID) // an observed state changed
	places  *places                   // bounds how many are prepared at once
	room    *room                     // bounds how many are awake
	builds  *builds
	size    machineSize
	linked  atomic.Bool // the Hub can be asked
	refused *refusals
	// releaseKept gives up the Sandbox that a failed build left.
	releaseKept func(context.Context, claudehub.BuildID) error

	freeDisk func(context.Context) (int64, error)

	pasteTime, illTime, figuresTime, alarmTime, diskLook, diskTime, clockLook, agentPatience, portsTime, storageRest, variablesLimit time.Duration // see the constants
	leakFloor                                                                                                                        int64
}

func newSession(r Record, on *parts, log *slog.Logger) *session {
	id := r.Desired.ID
	s := &session{
		id: id, creator: r.Desired.Creator, dir: filepath.Join(sessionsDir(on.cfg.Dir), string(id)), on: on, log: log.With("session", id),
		changed: newSignal(), slept: make(chan struct{}, 1), desired: r.Desired, local: r.Local, observed: r.Observed, give: func() {},
		told: map[string]string{},
	}
	if s.observed.Phase == "" {
		s.observed = claudehub.Observed{Phase: claudehub.PhaseNew, Since: now()}
	}
	s.screen = newScreen(id, on.hub, s.log, s.requestSnapshot)
	s.inputs = newInputs(s)
	s.ports = &ports{s: s, wake: newSignal()}
	return s
}

// stopFor has the Session's loop stop it, for a reason that its person is shown.
func (s *session) stopFor(why error) {
	s.mu.Lock()
	s.ending = why
	s.mu.Unlock()
	s.changed.set()
}

func (s *session) takeEnding() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := s.ending
	s.ending = nil
	return why
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// box names the Session's Sandbox: its own, or that of the build that is looked into.
func (s *session) box() sandbox.ID {
	if d := s.wanted(); isLook(d) {
		return sandbox.ID(cmp.Or(s.facts().Box, string(d.Build)))
	}
	return sandbox.ID(s.id)
}

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
	s.ports.wake.set()
}

func (s *session) wanted() wire.DesiredSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desired
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

// runAll runs the Session's loops until ctx ends, or the Session is forgotten.
func (s *session) runAll(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	s.end = end
	if s.retired {
		end()
	}
	s.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	for _, loop := range []func(context.Context) error{s.Run, s.inputs.Run, s.screen.Run, s.ports.Run} {
		g.Go(func() error { return loop(ctx) })
	}
	return g.Wait()
}

// retire ends the loops.
func (s *session) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	if s.end != nil {
		s.end()
	}
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
	look := isLook(d)
	if !look {
		s.receivePrompts(ctx, d)
	}
	o := s.saw()
	if o.Phase == claudehub.PhaseFailed && o.Generation == d.Generation && d.Desired == claudehub.WantAwake && !s.mended(ctx, o) {
		return true // the person has the word; a retry comes with a new generation
	}
	switch {
	case d.Desired == claudehub.WantDeleted:
		return s.beDeleted(ctx, d)
	case look && d.Desired == claudehub.WantAwake:
		return s.beLook(ctx, d)
	case look && d.Desired == claudehub.WantAsleep:
		return s.closeLook(ctx, d, claudehub.PhaseAsleep) // it does not sleep: its Sandbox goes on, unseen
	case look:
		return s.closeLook(ctx, d, claudehub.PhaseArchived)
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

// mended tells that a failure's cause is gone without the person's retry: the setup token has come, or the Hub is back.
func (s *session) mended(ctx context.Context, o claudehub.Observed) bool {
	switch {
	case o.Failure == nil:
		return false
	case o.Failure.Step == stepToken:
		return s.on.cfg.hasToken(ctx)
	default:
		return o.Failure.Step == stepVariables && s.on.linked.Load()
	}
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

// fail shows why the Session is not what it should be. What it took of the machine it gives back: others may wait for it.
func (s *session) fail(ctx context.Context, d wire.DesiredSession, err error) {
	f := failureOf(err, s.saw().Step)
	s.log.Warn("Session failed", "step", f.Step, "error", err)
	s.standDown(ctx)
	s.see(ctx, func(o *claudehub.Observed) {
		*o = atRest(*o, claudehub.PhaseFailed, d.Generation)
		o.Failure, o.Doing = f, ""
	})
}

// beStopped stops the Sandbox and says so.
func (s *session) beStopped(ctx context.Context, d wire.DesiredSession, phase claudehub.Phase) (settled bool) {
	o := s.saw()
	if o.Phase == phase && o.Generation == d.Generation {
		return true
	}
	defer s.on.room.leave(s.id)
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
		err := s.on.cfg.Backend.Remove(ctx, s.box())
		if err == nil {
			err = s.learn(ctx, func(l *Local) { l.Image = "" })
		}
		if err != nil {
			if ctx.Err() != nil {
				return false
			}
			s.fail(ctx, d, err)
			return true
		}
	}
	s.see(ctx, func(o *claudehub.Observed) {
		*o = atRest(*o, phase, d.Generation)
	})
	return true
}
