package runner

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/mem"
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
	// MaxAwake is how many Sessions may be awake at once; 0 lets the machine's memory decide.
	MaxAwake int
	// Patience multiplies the deadlines of what a Sandbox is asked, for emulated machines; 0 is 1.
	Patience float64
	// Builder makes Environments' images with the same Backend.
	Builder maker
}

// parallelWakes is how many Sessions are brought up at once.
const parallelWakes = 2

// Runner is one machine's Sessions and its link to the Hub.
type Runner struct {
	cfg     Config
	state   *State
	log     *slog.Logger
	link    *link
	status  *statusLoop
	outbox  *outboxLoop
	parts   *parts
	builds  *builds
	refused *refusals
	tokens  *tokenLoop
	clocks  clocks
	disk    *signal // a Session's volumes may have to be measured
	storage *signal // what is on the disk changed

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
	told     bool                // the Hub named all its Sessions
	reclaim  wire.DesiredMachine // the newest wish
	stored   claudehub.Storage
}

// New builds a Runner. Nothing runs before Run.
func New(cfg Config, state *State, hub *Hub, log *slog.Logger) *Runner {
	r := &Runner{
		cfg: cfg, state: state, log: log, clocks: systemClocks(), sessions: map[claudehub.SessionID]*session{},
		arrivals: make(chan *session), cleared: make(chan struct{}), disk: newSignal(), storage: newSignal(), refused: newRefusals(log),
	}
	wake := newSignal()
	r.outbox = &outboxLoop{state: state, hub: hub, wake: wake, pause: newPause(), log: log}
	r.parts = newParts(cfg, state, hub, wake)
	r.parts.observe, r.parts.refused = r.changed, r.refused
	r.builds = newBuilds()
	r.builds.maker, r.builds.state, r.builds.hub, r.builds.log = cfg.Builder, state, hub, log
	r.builds.reserve, r.builds.mounts, r.builds.bound = r.parts.reserve, r.buildMounts, r.parts.bound
	r.parts.builds, r.parts.releaseKept = r.builds, r.builds.release
	r.status = &statusLoop{
		hub: hub, wake: newSignal(), pause: newPause(), log: log, dirty: map[claudehub.SessionID]bool{},
		machine: r.machine, session: r.observed, gone: r.gone, builds: r.builds,
	}
	r.builds.changed = func() { r.status.wake.set(); r.storage.set() }
	r.tokens = newTokenLoop(hub, r.parts.linked.Load, r.status.wake.set, log)
	r.link = &link{hub: hub, state: state, to: r, takeOver: cfg.TakeOver, log: log}
	return r
}

// patient is a deadline for this machine.
func (c Config) patient(d time.Duration) time.Duration {
	if c.Patience <= 1 {
		return d
	}
	return time.Duration(float64(d) * c.Patience)
}

func newParts(cfg Config, state *State, hub *Hub, outbox *signal) *parts {
	size := machineSize{cpus: runtime.NumCPU()}
	if v, err := mem.VirtualMemory(); err == nil {
		size.memory = int64(v.Total)
	}
	return &parts{
		cfg: cfg, state: state, hub: hub, outbox: outbox, places: newPlaces(parallelWakes), size: size,
		room:      newRoom(cfg.MaxAwake, size.memory, needs(cfg.Backend, claudehub.DefaultRecipe().Memory)),
		freeDisk:  func(ctx context.Context) (int64, error) { return freeDisk(ctx, cfg.Dir) },
		pasteTime: cfg.patient(pasteTime), illTime: cfg.patient(illTime), figuresTime: figuresTime, alarmTime: alarmTime, diskLook: diskLook, diskTime: diskTime,
		clockLook: clockLook, agentPatience: cfg.patient(agentPatience), portsTime: portsTime, storageRest: storageRest, variablesLimit: variablesLimit, leakFloor: leakFloor,
	}
}

// changed notes that a Session's observed state did.
func (r *Runner) changed(id claudehub.SessionID) {
	r.status.changed(id)
	r.disk.set()
}

// SmokeTest is what must succeed in a Sandbox made of a new image, with buildMounts: Claude Code answers.
func SmokeTest() []sandbox.Command {
	return []sandbox.Command{{Path: guestProgram + "/claude", Args: []string{"--version"}}}
}

// buildMounts are what a build's smoke test needs: Claude Code, as Sessions have it.
func (r *Runner) buildMounts(ctx context.Context) ([]sandbox.Mount, error) {
	program, err := r.cfg.Program(ctx, func(string, float64) {})
	if err != nil {
		return nil, err
	}
	return []sandbox.Mount{{Host: program, Guest: guestProgram + "/claude", ReadOnly: true}}, nil
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
	for _, loop := range []func(context.Context) error{
		r.inspectLoop, r.figuresLoop, r.diskLoop, r.sleepLoop, r.storageLoop, r.superviseBuilds, r.refused.Run, r.tokens.Run, r.status.Run, r.outbox.Run, r.link.Run,
	} {
		g.Go(func() error { return loop(ctx) })
	}
	return g.Wait()
}

// remember opens every Session that is on this machine's disk.
func (r *Runner) remember(ctx context.Context) ([]*session, error) {
	records, err := r.state.Records(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.builds.remember(ctx); err != nil {
		return nil, err
	}
	m, err := r.state.Machine(ctx)
	if err != nil {
		return nil, err
	}
	r.reclaim = m
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
	start := func(s *session) { g.Go(func() error { return s.runAll(ctx) }) }
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

// superviseBuilds begins with the first Session: not while another process has this Runner's lease.
func (r *Runner) superviseBuilds(ctx context.Context) error {
	select {
	case <-r.cleared:
	case <-ctx.Done():
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.cfg.Builder.Run(ctx) })
	g.Go(func() error { return r.builds.Run(ctx) })
	g.Go(func() error { return r.collectLoop(ctx) })
	return g.Wait()
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
	o := s.saw()
	if o.Ports == nil {
		o.Ports = []claudehub.Port{}
	}
	if o.Checks == nil {
		o.Checks = []claudehub.Check{}
	}
	return o, true
}

// SandboxDir is where a Runner with this state folder keeps its Sandboxes' records.
func SandboxDir(dir string) string { return filepath.Join(dir, "box") }
