package runner

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// figuresTime is how often what the awake Sessions take is looked at, and statsLimit bounds each look: a wedged Sandbox
// holds up no other's figures.
const (
	figuresTime  = 15 * time.Second
	statsLimit   = 10 * time.Second
	statsAtOnce  = 4
	cpuGrain     = 0.05
	memoryGrain  = 16 << 20
	diskGrain    = 16 << 20
	smallGrain   = 1 << 20 // of a disk below smallDisk, of which the larger one would make nothing
	smallDisk    = 64 << 20
	highMemory   = 0.90 // of the limit; from alarmTime on the person is told
	alarmTime    = 30 * time.Second
	fullMemory   = 0.97 // of the limit: the system ends somebody soon
	leakShare    = 0.60 // of the limit, in Claude's own process
	leakFloor    = 1 << 30
	leakAskEvery = 15 * time.Second
)

// meter is what was last seen of one Sandbox's use.
type meter struct {
	mu    sync.Mutex
	at    time.Time
	cpu   time.Duration
	used  int64
	limit int64
	// high is since when memory is near its limit; zero while it is not
	high time.Time
}

// sample takes new figures and returns the processor time per time since the last.
func (m *meter) sample(st sandbox.Stats, limit int64, at time.Time) (load float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() && at.After(m.at) && st.CPU >= m.cpu {
		load = float64(st.CPU-m.cpu) / float64(at.Sub(m.at))
	}
	m.at, m.cpu, m.limit = at, st.CPU, limit
	m.used = cmp.Or(st.GuestMemory, st.MemoryBytes)
	switch {
	case !m.nearLocked(highMemory):
		m.high = time.Time{}
	case m.high.IsZero():
		m.high = at
	}
	return load
}

func (m *meter) nearLocked(share float64) bool {
	return m.limit > 0 && float64(m.used) >= share*float64(m.limit)
}

// memory tells how much is used of how much, and since when it is near that.
func (m *meter) memory() (used, limit int64, high time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.limit, m.high
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.cpu, m.used, m.high = time.Time{}, 0, 0, time.Time{}
}

// figuresLoop keeps the live figures of awake Sessions true.
func (r *Runner) figuresLoop(ctx context.Context) error {
	for ctx.Err() == nil {
		r.takeFigures(ctx)
		newSignal().wait(ctx, r.parts.figuresTime)
	}
	return nil
}

func (r *Runner) takeFigures(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(statsAtOnce)
	var mu sync.Mutex
	total := int64(0)
	for _, s := range r.all() {
		if s.saw().Phase != claudehub.PhaseAwake {
			continue
		}
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, r.cfg.patient(statsLimit))
			defer cancel()
			st, err := r.cfg.Backend.Stats(ctx, s.box())
			if err != nil {
				return nil // a Sandbox that gives none is looked after by its own Session
			}
			mu.Lock()
			total += st.MemoryBytes
			mu.Unlock()
			s.measured(ctx, st)
			return nil
		})
	}
	_ = g.Wait() // none fails
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = total
}

// measured takes a Sandbox's live figures.
func (s *session) measured(ctx context.Context, st sandbox.Stats) {
	limit := cmp.Or(st.MemoryLimit, s.saw().Figures.MemoryLimit)
	load := s.meter.sample(st, limit, time.Now())
	s.see(ctx, func(o *claudehub.Observed) {
		if o.Phase != claudehub.PhaseAwake {
			return // it ended meanwhile
		}
		o.Figures.CPU = math.Round(math.Round(load/cpuGrain)*cpuGrain*100) / 100
		o.Figures.Memory, o.Figures.MemoryLimit = round(st.MemoryBytes, memoryGrain), limit
	})
	if _, _, high := s.meter.memory(); !high.IsZero() {
		s.changed.set()
	}
}

// round makes of a figure a multiple of grain, so that it changes only when it matters.
func round(n, grain int64) int64 { return (n + grain/2) / grain * grain }

// roundDisk does so with what is on a disk. Something there is never shown as nothing.
func roundDisk(n int64) int64 {
	switch {
	case n <= 0:
		return 0
	case n < smallDisk:
		return max(round(n, smallGrain), smallGrain)
	}
	return round(n, diskGrain)
}
