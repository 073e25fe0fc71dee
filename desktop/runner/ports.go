package runner

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// portsTime is how often it is looked what listens in a Sandbox, while somebody watches or a port is forwarded; where looks
// are slow, down to once in portsSeldom.
const (
	portsTime   = 3 * time.Second
	portsSeldom = time.Minute
	portsLimit  = 10 * time.Second
)

// ports shows what listens in one Session's Sandbox, and keeps its forwards open while it is awake.
type ports struct {
	s    *session
	wake *signal
}

// Run works until ctx ends.
func (p *ports) Run(ctx context.Context) error {
	open := &forwards{s: p.s, open: map[int]openForward{}}
	defer open.closeAll()
	for ctx.Err() == nil {
		pause := p.look(ctx, open)
		p.wake.wait(ctx, pause)
	}
	return nil
}

// look does one round and tells how long until the next.
func (p *ports) look(ctx context.Context, open *forwards) time.Duration {
	want := p.s.wanted().Forwards
	if p.s.saw().SandboxLink.State == claudehub.LinkNone || p.s.saw().SandboxLink.State == "" {
		// A forward ends with its Session; while Claude is started again, it goes on.
		open.closeAll()
		p.show(ctx, nil)
		return portsSeldom
	}
	open.keep(ctx, want)
	if len(want) == 0 && !p.s.screen.watched() {
		p.show(ctx, nil)
		return portsSeldom
	}
	if len(want) == 0 && p.s.saw().Phase != claudehub.PhaseAwake {
		return p.s.on.portsTime // Claude starts, and needs the Sandbox for itself
	}
	ask, cancel := context.WithTimeout(ctx, p.s.on.cfg.patient(portsLimit))
	defer cancel()
	began := time.Now()
	listens, err := p.s.listening(ask)
	pause := rest(p.s.on.portsTime, time.Since(began), portsSeldom)
	if err != nil {
		p.s.log.Debug("not seen what listens", "error", err)
		return pause
	}
	p.show(ctx, open.describe(listens))
	return pause
}

func (p *ports) show(ctx context.Context, all []claudehub.Port) {
	if len(all) == 0 && len(p.s.saw().Ports) == 0 {
		return
	}
	p.s.see(ctx, func(o *claudehub.Observed) { o.Ports = all })
}
