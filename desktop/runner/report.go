package runner

import (
	"context"
	"time"

	"claude-hub/desktop/mod"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// spool holds what the mod reported and the Runner has not taken yet.
func (s *session) spool() mod.Spool { return mod.Spool{Dir: s.volume("report")} }

// reportPause bounds how often reports cause a look.
const reportPause = 20 * time.Millisecond

// watchReports signals while reports come in. Stop ends it and waits.
func (s *session) watchReports(ctx context.Context) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	c := make(chan struct{}, 1)
	done := make(chan struct{})
	spool := s.spool()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := spool.Wait(ctx); err != nil {
				return
			}
			select {
			case c <- struct{}{}:
			case <-ctx.Done():
			}
			newSignal().wait(ctx, reportPause)
		}
	}()
	return c, func() { cancel(); <-done }
}

// maxAtOnce bounds how many reports are taken before the Session is looked at again, and maxAtEnd those of a Claude that
// has ended: a Sandbox may write them for ever.
const (
	maxAtOnce = 200
	maxAtEnd  = 100_000
)

// readReports takes the reports that wait. Each is acted on before it is removed; one that comes twice after a kill
// changes nothing the second time.
func (s *session) readReports(ctx context.Context, act *activity, most int) {
	if act == nil { // nobody tends it: what was under way then may have ended since
		last := s.lastActivity(ctx)
		act = &last
	}
	spool := s.spool()
	for range most {
		e, ok, err := spool.Next(ctx)
		if err != nil {
			s.log.Warn("report not read", "error", err)
			return
		}
		if !ok {
			return
		}
		s.take(ctx, e, act)
		if err := spool.Remove(ctx, e); err != nil {
			s.log.Error("report not removed", "error", err)
			return
		}
	}
}

func (s *session) take(ctx context.Context, e mod.Event, act *activity) {
	got := act.report(e)
	switch {
	case got.began:
		s.turnBegan()
		if !s.facts().Talked {
			if err := s.learn(ctx, func(l *Local) { l.Talked = true }); err != nil {
				s.log.Error("not noted", "error", err)
			}
		}
		s.accepted(ctx, e.Prompt)
		s.post(ctx, wire.Event{ID: claudehub.EventIDOf(string(s.id) + e.Key), Kind: wire.ReportTurn, At: e.At, Text: oneLine(e.Prompt)})
	case got.ended:
		s.post(ctx, wire.Event{ID: claudehub.EventIDOf(string(s.id) + e.Key), Kind: wire.ReportTurn, At: e.At, Text: act.doing, Ended: true})
		s.turnEnded(ctx, "")
		s.backUp(ctx)
	}
	if got.told { // also of a Turn that was taken as over
		s.turnEndedAt, s.turnTold = time.Now(), true
	}
}

// turnOver closes a Turn that no report closed.
func (s *session) turnOver(ctx context.Context, why string, act activity) {
	s.post(ctx, wire.Event{ID: claudehub.NewEventID(), Kind: wire.ReportTurn, At: now(), Text: act.doing, Ended: true})
	s.turnEnded(ctx, why)
	s.backUp(ctx)
}

// notice tells the person something, on the page and in the Session's history.
func (s *session) notice(ctx context.Context, text string) {
	s.see(ctx, func(o *claudehub.Observed) { o.Notice, o.Noticed = text, now() })
	s.post(ctx, wire.Event{ID: claudehub.NewEventID(), Kind: wire.ReportNotice, At: now(), Text: text})
}

// noticeOnce tells something that stays true, once until it changes or is forgotten.
func (s *session) noticeOnce(ctx context.Context, about, text string) {
	s.mu.Lock()
	known := s.told[about] == text
	s.told[about] = text
	s.mu.Unlock()
	if !known {
		s.notice(ctx, text)
	}
}

// forgetNotice takes back what is no longer true.
func (s *session) forgetNotice(ctx context.Context, about string) {
	s.mu.Lock()
	text := s.told[about]
	delete(s.told, about)
	s.mu.Unlock()
	s.see(ctx, func(o *claudehub.Observed) {
		if text != "" && o.Notice == text {
			o.Notice, o.Noticed = "", time.Time{}
		}
	})
}

// wokenAgain leaves behind what was told of the last time that the Session was awake. What is still true is told again.
func (s *session) wokenAgain(ctx context.Context) {
	if phase := s.saw().Phase; phase != claudehub.PhaseAsleep && phase != claudehub.PhaseArchived {
		return // a repair: what was told of it stands
	}
	s.mu.Lock()
	clear(s.told)
	s.mu.Unlock()
	s.see(ctx, func(o *claudehub.Observed) { o.Notice, o.Noticed = "", time.Time{} })
}

func (s *session) post(ctx context.Context, e wire.Event) {
	e.Session = s.id
	if e.At.IsZero() || time.Since(e.At) < 0 {
		e.At = now()
	}
	if err := s.on.state.Post(ctx, e); err != nil {
		s.log.Error("event not kept", "error", err)
	}
	s.on.outbox.set()
}
