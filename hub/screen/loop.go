package screen

import (
	"context"
	"time"

	"claude-hub/internal/wire"
)

// clock is when the loop has to do what; only the loop uses it.
type clock struct {
	renew, retry, resize, subscribe time.Time
	pause                           time.Duration // between retries
	empty                           time.Time     // since when nobody watches
}

// run is the feed's loop: it subscribes, keeps the Runner attached, asks for snapshots, sends the owner's size, and ends
// when nobody has watched for a while.
func (f *feed) run(ctx context.Context) {
	unsubscribe := func() {}
	defer func() { unsubscribe() }()
	defer f.detach(ctx)
	defer f.end(errStopping)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var c clock
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-timer.C:
		}
		p := f.plan(&c, time.Now())
		if p.over {
			return
		}
		if p.subscribe {
			unsubscribe()
			unsubscribe = f.subscribe(&c)
			f.poke() // now there is someone to hear the answer
			continue
		}
		f.send(ctx, p)
		timer.Reset(p.wait)
	}
}

// subscribe joins the bus. On failure the loop comes back after a pause.
func (f *feed) subscribe(c *clock) (unsubscribe func()) {
	f.mu.Lock()
	f.subscribed = true
	f.mu.Unlock()
	unsubscribe, err := f.feeds.opt.Bus.Subscribe(f.subject, f.receive)
	if err == nil {
		return unsubscribe
	}
	f.feeds.opt.Log.Warn("watch a screen", "session", f.session, "err", err)
	c.subscribe = time.Now().Add(retryFirst)
	f.mu.Lock()
	f.subscribed = false
	f.mu.Unlock()
	return func() {}
}

// plan reads what is due and marks it as done.
func (f *feed) plan(c *clock, now time.Time) plan {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := plan{wait: time.Hour}
	due := func(t time.Time) bool {
		if d := t.Sub(now); d > 0 {
			p.wait = min(p.wait, d)
			return false
		}
		return true
	}
	if len(f.viewers) > 0 {
		c.empty = time.Time{}
	} else {
		if c.empty.IsZero() {
			c.empty = now
		}
		if due(c.empty.Add(f.feeds.opt.Linger)) {
			f.closed, p.over = true, true
		}
		return p // no renewal: what we asked for before holds for longer than we linger
	}
	if !f.subscribed {
		p.subscribe = due(c.subscribe)
		return p
	}
	f.planAttachLocked(c, now, due, &p)
	if f.resize && due(c.resize) {
		f.resize = false
		c.resize = now.Add(resizeEvery)
		if r, ok := f.sizeLocked(); ok {
			p.resize = &r
		}
	}
	return p
}

func (f *feed) planAttachLocked(c *clock, now time.Time, due func(time.Time) bool, p *plan) {
	again := f.ask || len(f.terminals) > 0
	if again {
		c.pause = retryFirst
	} else if f.needsLocked() && due(c.retry) {
		// No answer: the Runner was away, or the answer was lost.
		again = true
		c.pause = min(2*c.pause, retryMost)
		f.ask = true
		f.terminals = f.terminals[:0]
		for _, v := range f.viewers {
			if v.wantReport {
				f.terminals = append(f.terminals, v)
			}
		}
	}
	if !again && !due(c.renew) {
		return
	}
	a := wire.Attach{Session: f.session, Feed: f.nonce, Snapshot: f.ask}
	if f.ask {
		a.History = history
		f.asked, f.askedAt = true, now
	}
	f.ask = false
	if len(f.terminals) == 0 {
		p.attach = append(p.attach, a)
	}
	for _, v := range f.terminals {
		a.Terminal = v.who.Terminal
		p.attach = append(p.attach, a)
		a.Snapshot, a.History = false, 0
	}
	f.terminals = nil
	c.renew, c.retry = now.Add(renewEvery), now.Add(c.pause)
	p.wait = min(p.wait, renewEvery)
	if f.needsLocked() {
		p.wait = min(p.wait, c.pause)
	}
}

// send does what the plan says. An error is not for anyone: the links tell that the Runner is away, and the loop asks
// again.
func (f *feed) send(ctx context.Context, p plan) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, a := range p.attach {
		if err := f.feeds.opt.Fleet.Attach(ctx, f.runner, a); err != nil {
			f.feeds.opt.Log.Debug("attach to a screen", "session", f.session, "err", err)
			break
		}
	}
	if p.resize != nil {
		if err := f.feeds.opt.Fleet.SendResize(ctx, p.resize.Author, *p.resize); err != nil {
			f.feeds.opt.Log.Debug("resize a terminal", "session", f.session, "err", err)
		}
	}
}

func (f *feed) detach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := f.feeds.opt.Fleet.Detach(ctx, f.runner, wire.Detach{Session: f.session, Feed: f.nonce}); err != nil {
		f.feeds.opt.Log.Debug("detach from a screen", "session", f.session, "err", err)
	}
}
