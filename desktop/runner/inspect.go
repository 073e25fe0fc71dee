package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

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
		if r.isUnowned(string(b.ID)) {
			unowned = append(unowned, string(b.ID))
		}
	}
	for _, name := range r.strays() {
		if !slices.Contains(unowned, name) {
			unowned = append(unowned, name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unowned = unowned
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
		Doctor: []claudehub.Finding{}, Unowned: []string{}, Networks: networks(r.cfg.Backend),
	}
	measure(ctx, r.cfg.Dir, &m)
	_, m.MaxAwake = r.parts.room.size()
	var held, archived int64
	for _, s := range r.all() {
		o := s.saw()
		held += o.Figures.Disk
		switch o.Phase {
		case claudehub.PhaseAwake:
			m.Awake++
		case claudehub.PhaseArchived:
			archived += o.Figures.Disk
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
	m.Storage = r.stored
	m.Storage.Sessions, m.Storage.Archived = held, archived
	if m.Storage.Items == nil {
		m.Storage.Items = []claudehub.StorageItem{}
	}
	return m
}

// networks are the policies that a Backend can enforce: with the machine's own network, all that it reaches is there.
func networks(b sandbox.Backend) []claudehub.NetworkPolicy {
	if !isVM(b) {
		return []claudehub.NetworkPolicy{claudehub.NetworkOpen}
	}
	return []claudehub.NetworkPolicy{claudehub.NetworkOpen, claudehub.NetworkInternet, claudehub.NetworkAllowList}
}
