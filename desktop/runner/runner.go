package runner

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Config is what a Runner needs from outside.
type Config struct {
	Dir      string // its state folder, 0700
	HubURL   string
	TakeOver bool // take the link from another process with the same token
	Backend  sandbox.Backend
	Limits   sandbox.Limits // of each Sandbox
	// Program brings the pinned Claude Code to this machine and returns its folder.
	Program func(ctx context.Context, progress func(detail string, part float64)) (string, error)
	// ModDir is the folder with the mod's plugins.
	ModDir string
	// SetupToken returns the Creator's setup token; "" when there is none. It is asked at each launch.
	SetupToken func(ctx context.Context) (string, error)
	// AnthropicURL replaces Anthropic's address, for tests and people behind a gateway; StandIn says that it is no
	// Anthropic at all.
	AnthropicURL string
	StandIn      bool
	ClaudeName   string // the version, for the machine's card
}

// parallelWakes is how many Sessions are brought up at once.
const parallelWakes = 2

// Runner is one machine's Sessions and its link to the Hub.
type Runner struct {
	cfg    Config
	state  *State
	log    *slog.Logger
	link   *link
	status *statusLoop
	outbox *outboxLoop
	parts  *parts

	mu       sync.Mutex
	sessions map[claudehub.SessionID]*session
	arrivals chan *session // Sessions whose loops must be started
	cleared  chan struct{} // closed by unopposed
	clear    sync.Once
	doctor   []claudehub.Finding
	trouble  *claudehub.Finding // why what the Hub asks cannot be written down; nil when it can
	unowned  []string
	memory   int64 // of all Sandboxes, as last measured
	token    bool
}

// New builds a Runner. Nothing runs before Run.
func New(cfg Config, state *State, hub *Hub, log *slog.Logger) *Runner {
	r := &Runner{cfg: cfg, state: state, log: log, sessions: map[claudehub.SessionID]*session{}, arrivals: make(chan *session), cleared: make(chan struct{})}
	wake := newSignal()
	r.outbox = &outboxLoop{state: state, hub: hub, wake: wake, pause: newPause(), log: log}
	r.status = &statusLoop{
		hub: hub, wake: newSignal(), pause: newPause(), log: log, dirty: map[claudehub.SessionID]bool{},
		machine: r.machine, session: r.observed, gone: r.gone,
	}
	r.parts = &parts{
		cfg: cfg, state: state, hub: hub, outbox: wake, places: newPlaces(parallelWakes), pasteTime: pasteTime, illTime: illTime,
		observe: func(id claudehub.SessionID) { r.status.changed(id) },
	}
	r.link = &link{hub: hub, state: state, to: r, takeOver: cfg.TakeOver, log: log}
	return r
}

// Run works until ctx ends, or the Hub says that this process must not go on. Sandboxes keep running after it.
func (r *Runner) Run(ctx context.Context) error {
	// Before the link is up: a Session that the Hub names first would be taken for one that was never here.
	remembered, err := r.remember(ctx)
	if err != nil {
		return unlessOver(ctx, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.superviseSessions(ctx, remembered) })
	g.Go(func() error { return r.inspectLoop(ctx) })
	g.Go(func() error { return r.status.Run(ctx) })
	g.Go(func() error { return r.outbox.Run(ctx) })
	g.Go(func() error { return r.link.Run(ctx) })
	return g.Wait()
}

// remember opens every Session that is on this machine's disk.
func (r *Runner) remember(ctx context.Context) ([]*session, error) {
	records, err := r.state.Records(ctx)
	if err != nil {
		return nil, err
	}
	remembered := make([]*session, len(records))
	for i, rec := range records {
		remembered[i], _ = r.open(rec)
	}
	return remembered, r.state.forgetOver(ctx)
}

// unlessOver passes an error on that is not ctx's end.
func unlessOver(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// superviseSessions owns the loops of all Sessions. None begins while another process has this Runner's lease: a copy of
// its state on another machine must not start every Session a second time.
func (r *Runner) superviseSessions(ctx context.Context, remembered []*session) error {
	select {
	case <-r.cleared:
	case <-ctx.Done():
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	start := func(s *session) {
		g.Go(func() error { return s.Run(ctx) })
		g.Go(func() error { return s.inputs.Run(ctx) })
		g.Go(func() error { return s.screen.Run(ctx) })
	}
	for _, s := range remembered {
		start(s)
	}
	for {
		select {
		case s := <-r.arrivals:
			start(s)
		case <-ctx.Done():
			return g.Wait()
		}
	}
}

// open returns the Session of a record, and whether it is new here.
func (r *Runner) open(rec Record) (*session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sessions[rec.Desired.ID]; ok {
		return s, false
	}
	s := newSession(rec, r.parts, r.log)
	r.sessions[s.id] = s
	return s, true
}

func (r *Runner) find(id claudehub.SessionID) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id]
}

func (r *Runner) all() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*session, 0, len(r.sessions))
	for _, s := range r.sessions {
		out = append(out, s)
	}
	return out
}

func (r *Runner) observed(id claudehub.SessionID) (claudehub.Observed, bool) {
	s := r.find(id)
	if s == nil {
		return claudehub.Observed{}, false
	}
	return s.saw(), true
}

// The receiver of the Hub's stream.

func (r *Runner) linked(up bool) {
	r.log.Info("link to the Hub", "up", up)
	if up {
		for _, s := range r.all() {
			r.status.changed(s.id)
		}
		r.status.wake.set()
		r.status.pause.hurry()
		r.outbox.wake.set()
		r.outbox.pause.hurry()
		return
	}
	for _, s := range r.all() {
		s.screen.linkLost()
	}
}

func (r *Runner) unopposed() { r.clear.Do(func() { close(r.cleared) }) }

func (r *Runner) snapshot(ctx context.Context, m wire.Snapshot) error {
	if err := r.take(ctx, m.Seq, m.Sessions); err != nil {
		return err
	}
	named := map[claudehub.SessionID]bool{}
	for _, d := range m.Sessions {
		named[d.ID] = true
	}
	for _, s := range r.all() {
		if !named[s.id] {
			r.gone(ctx, s.id)
		}
	}
	return nil
}

func (r *Runner) desired(ctx context.Context, d wire.DesiredSession) error {
	return r.take(ctx, d.Seq, []wire.DesiredSession{d})
}

// take stores desired states, then acts on them.
func (r *Runner) take(ctx context.Context, seq int64, sessions []wire.DesiredSession) error {
	valid := sessions[:0:0]
	for _, d := range sessions {
		if _, err := claudehub.ParseSessionID(string(d.ID)); err != nil {
			r.log.Error("the Hub named a Session that cannot be", "id", string(d.ID))
			continue
		}
		valid = append(valid, d)
	}
	err := r.state.SaveDesired(ctx, seq, valid)
	r.rememberTrouble(err)
	if err != nil {
		return err
	}
	for _, d := range valid {
		s, fresh := r.open(Record{Desired: d})
		if fresh {
			select {
			case r.arrivals <- s:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.want(d)
		r.status.changed(s.id)
	}
	return nil
}

// gone takes a Session that the Hub has no row for out of work. Its files stay.
func (r *Runner) gone(ctx context.Context, id claudehub.SessionID) {
	s := r.find(id)
	if s == nil || s.wanted().Desired != claudehub.WantAwake {
		return
	}
	r.log.Warn("the Hub does not know this Session; it is stopped and its files are kept", "session", id, "dir", s.dir)
	d := s.wanted()
	d.Desired = claudehub.WantAsleep
	s.want(d)
	if err := r.state.saveWish(ctx, d); err != nil {
		r.log.Error("not noted that a Session is gone", "session", id, "error", err)
	}
}

func (r *Runner) input(in wire.Input) {
	if s := r.find(in.Session); s != nil {
		s.inputs.add(in)
	}
}

func (r *Runner) resize(m wire.Resize) {
	if s := r.find(m.Session); s != nil {
		s.resize(m)
	}
}

func (r *Runner) attach(m wire.Attach) {
	if s := r.find(m.Session); s != nil {
		s.attach(m)
	}
}

func (r *Runner) detach(m wire.Detach) {
	if s := r.find(m.Session); s != nil {
		s.screen.detach(m.Feed)
	}
}

// inspectTime is how often the machine is looked over, and tokenTime how often while there is no setup token: someone
// may be looking at a Session that waits for it. The doctor comes every doctorRounds looks.
const (
	inspectTime  = 15 * time.Second
	tokenTime    = 2 * time.Second
	doctorRounds = 20
)

// inspectLoop keeps the machine's card true, and starts Sessions that waited for a setup token once there is one.
func (r *Runner) inspectLoop(ctx context.Context) error {
	for round := 0; ctx.Err() == nil; round++ {
		if round%doctorRounds == 0 {
			findings := r.check(ctx)
			r.mu.Lock()
			r.doctor = findings
			r.mu.Unlock()
		}
		r.inspect(ctx)
		r.status.wake.set()
		r.awaitToken(ctx, time.Now().Add(inspectTime))
	}
	return nil
}

// awaitToken waits until a time, looking for a setup token meanwhile if there is none. One that comes or goes wakes the
// Sessions that wait for it.
func (r *Runner) awaitToken(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && time.Now().Before(until) {
		has := r.cfg.hasToken(ctx)
		r.mu.Lock()
		changed := has != r.token
		r.token = has
		r.mu.Unlock()
		if changed {
			for _, s := range r.all() {
				s.changed.set()
			}
			r.status.wake.set()
		}
		if has {
			newSignal().wait(ctx, time.Until(until))
			return
		}
		newSignal().wait(ctx, tokenTime)
	}
}

// rememberTrouble shows on the machine's card that the Runner cannot write down what the Hub asks: until it can, it does
// nothing of it, and the Hub repeats it.
func (r *Runner) rememberTrouble(err error) {
	var f *claudehub.Finding
	if err != nil {
		f = &claudehub.Finding{
			Name: "the Runner's memory", Fatal: true, Detail: "What the Hub asks cannot be written to " + r.cfg.Dir + ": " + err.Error(),
			Fix: "Free some space on that disk, or mend it. The Runner then goes on by itself.",
		}
	}
	r.mu.Lock()
	changed := (f == nil) != (r.trouble == nil)
	r.trouble = f
	r.mu.Unlock()
	if changed {
		r.status.wake.set()
	}
}

// inspectLimit bounds each look, and each run of the doctor.
const inspectLimit = 30 * time.Second

func (r *Runner) check(ctx context.Context) []claudehub.Finding {
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	return r.cfg.Backend.Check(ctx)
}

func (r *Runner) inspect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	boxes, err := r.cfg.Backend.List(ctx)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			r.log.Warn("Sandboxes not listed", "error", err)
		}
		return
	}
	var unowned []string
	for _, b := range boxes {
		if r.find(claudehub.SessionID(b.ID)) == nil {
			unowned = append(unowned, string(b.ID))
		}
	}
	memory := int64(0)
	for _, s := range r.all() {
		if s.saw().Phase != claudehub.PhaseAwake {
			continue
		}
		if st, err := r.cfg.Backend.Stats(ctx, s.box()); err == nil {
			memory += st.MemoryBytes
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unowned, r.memory = unowned, memory
}

// hasToken tells whether a setup token is there, within a short time.
func (c Config) hasToken(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t, err := c.SetupToken(ctx)
	return err == nil && t != ""
}

// machine is what the Runner says of itself.
func (r *Runner) machine(ctx context.Context) claudehub.Machine {
	m := claudehub.Machine{
		Backend: r.cfg.Backend.Name(), Claude: r.cfg.ClaudeName, StandIn: r.cfg.StandIn,
		Doctor: []claudehub.Finding{}, Unowned: []string{},
	}
	measure(ctx, r.cfg.Dir, &m)
	for _, s := range r.all() {
		if s.saw().Phase == claudehub.PhaseAwake {
			m.Awake++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.SessionsMemory = r.memory
	m.Doctor = append(m.Doctor, r.doctor...)
	if r.trouble != nil {
		m.Doctor = append(m.Doctor, *r.trouble)
	}
	m.Unowned = append(m.Unowned, r.unowned...)
	m.SetupToken = r.token
	return m
}

// SandboxDir is where a Runner with this state folder keeps its Sandboxes' records.
func SandboxDir(dir string) string { return filepath.Join(dir, "box") }
