package fleet

import (
	"context"
	"sync"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	sweepLimit  = 30 * time.Second // for one look at everything
	expireBatch = 200
	// linkKept: a link that expired is kept for a while, to no use but that a clock set back does not revive it.
	linkKept = 24 * time.Hour
	// deletedKept: the row of a Session that is gone stays so long, for pages that are about to be told.
	deletedKept = time.Hour
)

// Run looks after what only time changes: prompts that expire, links that went silent, sign-ins that are over,
// people whom GitHub has to be asked about again. It returns when ctx ends.
func (f *Fleet) Run(ctx context.Context) error {
	if !policy.Guarded {
		f.log.Error("THIS HUB IS NOT GUARDED: it is built for one test, and lets everybody type into what is shared with them. Do not use it.")
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	daily := time.NewTicker(time.Hour)
	defer daily.Stop()
	defer f.stopPresence()
	f.listenToHubs()
	var loops sync.WaitGroup
	defer loops.Wait()
	if !f.Local() {
		loops.Go(func() { f.recheckLoop(ctx) })
	}
	f.tidy(ctx)
	for {
		select {
		case <-ctx.Done():
			f.leave(ctx)
			return nil
		case <-tick.C:
			f.sweep(ctx)
		case <-daily.C:
			f.tidy(ctx)
		}
	}
}

// Recover is for the start of a Hub that is alone on its database: no stream can be connected, whatever a process that
// was killed had written.
func (f *Fleet) Recover(ctx context.Context) error {
	if !f.bus.Embedded() {
		return nil // another Hub's streams may be; the sweep finds those that are not
	}
	linked, err := f.st.Read().LinkedRunners(ctx)
	if err != nil {
		return err
	}
	for _, r := range linked {
		err := f.linkDown(ctx, r.ID, func(r store.Runner) (time.Time, bool) { return r.Lease.Renewed, r.Lease.Hub != f.hub })
		if err != nil {
			return err
		}
	}
	return nil
}

// sweep never gives up: what failed now is tried at the next tick.
func (f *Fleet) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	if err := f.sweepLeases(ctx); err != nil && ctx.Err() == nil {
		f.log.Error("silent links are not looked for", "err", err)
	}
	if err := f.expireDue(ctx); err != nil && ctx.Err() == nil {
		f.log.Error("prompts are not expired", "err", err)
	}
	f.listenToHubs()
	if err := f.closeRefusals(ctx, false); err != nil && ctx.Err() == nil {
		f.log.Error("refusals are not counted in the audit log", "err", err)
	}
}

func (f *Fleet) listenToHubs() {
	if err := f.beat(); err != nil {
		f.log.Error("other Hubs are not heard: who watches there is not shown", "err", err)
	}
}

// leave writes what is in memory alone.
func (f *Fleet) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalLimit)
	defer cancel()
	if err := f.closeRefusals(ctx, true); err != nil {
		f.log.Error("refusals are not counted in the audit log", "err", err)
	}
}

func (f *Fleet) sweepLeases(ctx context.Context) error {
	now := f.now()
	if err := f.st.Write(ctx, func(q store.Q) error { return q.RenewLeases(ctx, f.hub, now) }); err != nil {
		return err
	}
	linked, err := f.st.Read().LinkedRunners(ctx)
	if err != nil {
		return err
	}
	for _, r := range linked {
		if f.live(r.ID, r.Link, r.Lease) {
			continue
		}
		f.log.Warn("a Runner is silent", "runner", r.ID, "host", r.Lease.Host)
		err := f.linkDown(ctx, r.ID, func(r store.Runner) (time.Time, bool) {
			return f.lastSign(r.ID, r.Lease), !f.live(r.ID, r.Link, r.Lease)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expireDue ends prompts whose time is over. It is asked before prompts are shown or sent, so that none is sent late
// because a timer was.
func (f *Fleet) expireDue(ctx context.Context) error {
	for {
		due, err := f.st.Read().DuePrompts(ctx, f.now(), expireBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		done := map[claudehub.SessionID]bool{}
		for _, p := range due {
			if done[p.Session] {
				continue
			}
			done[p.Session] = true
			if err := f.expireIn(ctx, p.Session); err != nil {
				return err
			}
		}
	}
}

func (f *Fleet) expireIn(ctx context.Context, id claudehub.SessionID) error {
	return f.decide(ctx, id, func(d *decision) error {
		open, err := d.q.OpenPrompts(ctx, id)
		if err != nil {
			return err
		}
		for _, p := range open {
			if p.State == claudehub.PromptAccepted || p.Expires.After(d.now) {
				continue
			}
			why := "It waited for a day without reaching Claude. Send it again if you still want it."
			if err := d.setPrompt(ctx, p, claudehub.PromptExpired, why); err != nil {
				return err
			}
		}
		return nil
	})
}

// tidy forgets what is over: sign-ins and links, tokens and devices, Sessions that were deleted, logs of old builds.
func (f *Fleet) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	now := f.now()
	err := f.st.Write(ctx, func(q store.Q) error {
		if err := q.DeleteOldSignIns(ctx, now.Add(-signInLife), now.Add(-linkKept)); err != nil {
			return err
		}
		if err := q.DeleteOldAPITokens(ctx, now.Add(-tokensKept)); err != nil {
			return err
		}
		if err := q.DeleteOldDevices(ctx, now.Add(-linkKept)); err != nil {
			return err
		}
		if err := q.RemoveDeleted(ctx, now.Add(-deletedKept)); err != nil {
			return err
		}
		if err := q.DeleteOldSights(ctx, now.Add(-sightKept)); err != nil {
			return err
		}
		return q.PruneBuildLogs(ctx, now.Add(-logsLife))
	})
	if err != nil && ctx.Err() == nil {
		f.log.Error("what is over is not forgotten", "err", err)
	}
}
