package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// heartbeat is how often a status goes out when nothing changes. The Hub takes three missed ones for a dead link.
const heartbeat = 15 * time.Second

// statusLoop reports what changed, at once and one report at a time, and everything after a new link.
type statusLoop struct {
	hub     *Hub
	machine func(context.Context) claudehub.Machine
	session func(claudehub.SessionID) (claudehub.Observed, bool)
	gone    func(context.Context, claudehub.SessionID)
	builds  *builds
	wake    *signal
	pause   *pause // between tries while the Hub is away
	log     *slog.Logger

	mu    sync.Mutex
	dirty map[claudehub.SessionID]bool
}

// changed marks a Session whose observed state must be reported.
func (l *statusLoop) changed(ids ...claudehub.SessionID) {
	l.mu.Lock()
	for _, id := range ids {
		l.dirty[id] = true
	}
	l.mu.Unlock()
	l.wake.set()
}

func (l *statusLoop) take() []claudehub.SessionID {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]claudehub.SessionID, 0, len(l.dirty))
	for id := range l.dirty {
		ids = append(ids, id)
	}
	clear(l.dirty)
	return ids
}

func (l *statusLoop) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.report(ctx); err != nil {
			if ctx.Err() == nil {
				l.log.Debug("status not sent", "error", err)
			}
			l.pause.sleep(ctx)
			continue
		}
		l.pause.reset()
		l.wake.wait(ctx, heartbeat)
	}
	return nil
}

func (l *statusLoop) report(ctx context.Context) error {
	ids := l.take()
	s := wire.Status{Machine: l.machine(ctx)}
	for _, id := range ids {
		if o, ok := l.session(id); ok {
			s.Sessions = append(s.Sessions, wire.ObservedSession{ID: id, Observed: o})
		}
	}
	s.Builds = l.builds.report() // after the Sessions, which name them
	reply, err := l.hub.Status(ctx, s)
	if err != nil {
		l.mu.Lock()
		for _, id := range ids {
			l.dirty[id] = true
		}
		l.mu.Unlock()
		l.builds.unreported(s.Builds)
		return err
	}
	for _, o := range s.Sessions {
		if o.Observed.Phase == claudehub.PhaseDeleted {
			reply.Gone = append(reply.Gone, o.ID) // the Hub has heard the last word on it
		}
	}
	for _, id := range reply.Gone {
		l.gone(ctx, id)
	}
	for _, id := range reply.GoneBuilds {
		l.builds.gone(id)
	}
	return nil
}
