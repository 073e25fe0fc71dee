package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	lookAfter   = 4 // pings: a nudge that was lost costs a minute at most
	letGoTime   = 5 * time.Second
	maxHostName = 200
)

// runnerStream is a Runner's link: desired state with ids that resume, and what must be sent at once or not at all.
// It holds the Runner's lease while it lives.
func (s *server) runnerStream(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	ctx := r.Context()
	l := newLink(c.instance, c.token)
	defer close(l.done)
	s.enter(ctx, c, l)
	defer s.exit(c, l)

	stop, err := s.fleet.Listen(ctx, c.id, c.instance, l.add)
	if err != nil {
		return err
	}
	defer stop()
	q := r.URL.Query()
	host := limitText(q.Get("host"), maxHostName)
	err = aside(func() error { return s.fleet.AcquireLease(ctx, c.id, c.instance, host, q.Get("take_over") == "true") })
	if err != nil {
		return err
	}
	defer s.letGo(ctx, c, l)

	st := &runnerStream{s: s, c: c, l: l, out: startSSE(w), seq: -1}
	if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last >= 0 {
		st.seq = last
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	err = st.run(ctx)
	if rec := recordOf(ctx); rec.status != 0 {
		rec.err = err // the answer has begun: its end says the rest
		return nil
	}
	return err
}

// enter makes this the Runner's stream in this process and ends an older one, which may not have noticed that its far
// side is gone.
func (s *server) enter(ctx context.Context, c runnerCaller, l *link) {
	s.mu.Lock()
	old := s.links[c.id]
	if old != nil && old.instance != l.instance {
		s.mu.Unlock()
		return // another process: the lease decides
	}
	s.links[c.id] = l
	s.mu.Unlock()
	if old == nil {
		return
	}
	old.replace()
	ctx, cancel := context.WithTimeout(ctx, letGoTime)
	defer cancel()
	select {
	case <-old.done:
	case <-ctx.Done():
	}
}

// renewed notes that a Runner whose stream is open has gone on to its next token.
func (s *server) renewed(id claudehub.RunnerID, instance string, token claudehub.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.links[id]; l != nil && l.instance == instance {
		l.use(token)
	}
}

func (s *server) exit(c runnerCaller, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[c.id] == l {
		delete(s.links, c.id)
	}
}

// letGo frees the lease, unless the same process has opened another stream with it.
func (s *server) letGo(ctx context.Context, c runnerCaller, l *link) {
	l.mu.Lock()
	replaced := l.replaced
	l.mu.Unlock()
	if replaced {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
	defer cancel()
	if err := s.fleet.ReleaseLease(ctx, c.id, c.instance); err != nil {
		s.log.Warn("release a Runner's lease", "runner", c.id, "err", err)
	}
}

// aside runs what goes deep (the database) on a stack of its own, which goes back when it is done: a thousand links that
// wait must not each keep the stack that their last query needed.
func aside(run func() error) error {
	done := make(chan error)
	go func() {
		var err error
		defer func() {
			if got := recover(); got != nil {
				err = fmt.Errorf("panic: %v\n%s", got, debug.Stack())
			}
			done <- err
		}()
		err = run()
	}()
	return <-done
}

type runnerStream struct {
	s   *server
	c   runnerCaller
	l   *link
	out *sse
	seq int64 // of the last desired state sent; -1 before the first

	pings int
}

func (st *runnerStream) run(ctx context.Context) error {
	if err := aside(func() error { return st.begin(ctx) }); err != nil {
		return err
	}
	ping := time.NewTimer(wire.StreamPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
			if err := aside(func() error { return st.ping(ctx) }); err != nil {
				return err
			}
			ping.Reset(wire.StreamPing)
		case <-st.l.wake:
			if err := aside(func() error { return st.batch(ctx) }); err != nil {
				_ = st.out.flush() // superseded goes out before the end
				return err
			}
		}
		if err := st.out.flush(); err != nil {
			return err
		}
	}
}

func (st *runnerStream) ping(ctx context.Context) error {
	if err := st.s.stillKnown(ctx, st.l); err != nil {
		return err
	}
	if err := st.s.fleet.RenewLease(ctx, st.c.id, st.c.instance); err != nil {
		return err
	}
	st.out.comment()
	if st.pings++; st.pings%lookAfter == 0 {
		return st.desired(ctx)
	}
	return nil
}

// begin brings the Runner to now: by what it missed, or by everything.
func (st *runnerStream) begin(ctx context.Context) error {
	if st.seq >= 0 {
		switch err := st.desired(ctx); {
		case err == nil:
			st.out.comment() // so that the far side knows it is linked
			return st.out.flush()
		case claudehub.CodeOf(err) != claudehub.Expired:
			return err
		}
	}
	snap, err := st.s.fleet.Snapshot(ctx, st.c.id)
	if err != nil {
		return err
	}
	snap.Sessions = list(snap.Sessions)
	b, err := json.Marshal(snap)
	if err != nil {
		return err
	}
	st.seq = snap.Seq
	st.out.event(snap.Seq, wire.EventSnapshot, b)
	return st.out.flush()
}

// batch writes all that waits as one.
func (st *runnerStream) batch(ctx context.Context) error {
	queue, nudged, end := st.l.take()
	if nudged {
		if err := st.desired(ctx); err != nil {
			return err
		}
	}
	for _, e := range queue {
		st.out.event(-1, e.kind, e.data)
		if e.kind == wire.EventSuperseded {
			return claudehub.Errorf(claudehub.Conflict, "Another process took over this Runner.")
		}
	}
	return end
}

// desired sends what changed, in the order of its numbers, so that the last id that the far side has is where to go on.
func (st *runnerStream) desired(ctx context.Context) error {
	d, err := st.s.fleet.DesiredSince(ctx, st.c.id, st.seq)
	if err != nil {
		return err
	}
	machine := d.Machine
	for _, session := range d.Sessions {
		if machine != nil && machine.Seq < session.Seq {
			if err := st.send(machine.Seq, wire.EventMachine, machine); err != nil {
				return err
			}
			machine = nil
		}
		session.Prompts = list(session.Prompts)
		if err := st.send(session.Seq, wire.EventDesired, session); err != nil {
			return err
		}
	}
	if machine == nil {
		return nil
	}
	return st.send(machine.Seq, wire.EventMachine, machine)
}

func (st *runnerStream) send(seq int64, kind string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	st.out.event(seq, kind, b)
	st.seq = seq
	return nil
}
