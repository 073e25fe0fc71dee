package runner

import (
	"context"
	"errors"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// How often a tended Session is looked at: often while something is expected, seldom while it rests, and its Sandbox's
// health apart from both.
const (
	lookSoon    = 250 * time.Millisecond
	lookSeldom  = 5 * time.Second
	healthTime  = 10 * time.Second
	healthLimit = 5 * time.Second
	healthTries = 3
	// quietTime is how long the screen must rest before it is asked whether Claude is at its prompt; restTime is how long
	// when it does not say: in a narrow terminal it lacks the words, but what moves while Claude works is there.
	quietTime = time.Second
	restTime  = 4 * time.Second
)

// tending is one stretch of an awake Session: from an attached terminal to its end.
type tending struct {
	s     *session
	seat  *seat
	act   activity
	check time.Time // the last look at the Sandbox's health
	ill   int       // looks in a row that failed
}

// tend keeps the Session awake: it takes Claude's reports, delivers prompts, brings Claude back when it ends. It returns
// nil when the terminal ended or the person wants something else, and an error that only a person can mend.
func (s *session) tend(ctx context.Context, d wire.DesiredSession) error {
	o := s.saw()
	t := &tending{s: s, seat: s.sitting(), check: time.Now(), act: activity{is: o.Activity, doing: o.Doing}}
	if t.act.is == "" {
		t.act.is = claudehub.Unknown
	}
	reports, stop := s.watchReports(ctx)
	defer stop()
	t.show(ctx, d)
	s.inputs.wake.set() // a size wished for while there was no terminal
	for ctx.Err() == nil {
		s.receivePrompts(ctx, s.wanted())
		if err := t.look(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(t.pace())
		select {
		case <-ctx.Done():
		case <-s.changed.c:
		case <-reports:
		case <-timer.C:
		case <-t.seat.died:
			if err := t.revive(ctx, "Claude Code had ended; its conversation was resumed."); err != nil {
				timer.Stop()
				return err
			}
		case <-t.seat.done:
			timer.Stop()
			return s.countRestart()
		}
		timer.Stop()
	}
	return nil
}

// pace is how long until the next look.
func (t *tending) pace() time.Duration {
	if t.act.is != claudehub.Ready || len(t.s.wanted().Prompts) > 0 {
		return lookSoon
	}
	return lookSeldom
}

// look does what is due.
func (t *tending) look(ctx context.Context) error {
	d := t.s.wanted()
	t.s.readReports(ctx, &t.act)
	if err := t.health(ctx); err != nil {
		return err
	}
	if dead, _, err := t.seat.term.Dead(ctx); err == nil && dead {
		return t.revive(ctx, "Claude Code had ended; its conversation was resumed.")
	}
	screen := t.screen(ctx)
	if screen.Kind == claude.ScreenUnknown && screen.Box && t.seat.quietFor() > restTime {
		screen.AtPrompt = true
	}
	if screen.AtPrompt && t.act.is != claudehub.Ready && t.seat.quietFor() > quietTime {
		if t.act.screenIdle().ended {
			t.s.turnOver(ctx, "Interrupted.", t.act)
		}
	}
	t.interrupt(ctx, d)
	l := t.s.facts()
	if (d.Model != l.Model || d.Effort != l.Effort) && t.act.is != claudehub.Busy {
		if err := t.revive(ctx, ""); err != nil {
			return err
		}
	}
	if screen.AtPrompt && t.seat.ready.IsZero() {
		t.seat.ready = time.Now()
	}
	settled := !t.seat.ready.IsZero() && time.Since(t.seat.ready) > settleTime
	t.s.deliver(ctx, t.seat, settled && screen.AtPrompt && screen.InputEmpty && t.act.is == claudehub.Ready)
	t.s.chase(ctx, t.seat)
	t.show(ctx, d)
	return nil
}

// screen reads the terminal, when its word is wanted.
func (t *tending) screen(ctx context.Context) claude.Screen {
	if t.act.is == claudehub.Ready && len(t.s.wanted().Prompts) == 0 {
		return claude.Screen{}
	}
	text, err := t.seat.term.Text(ctx)
	if err != nil {
		return claude.Screen{}
	}
	return claude.ReadScreen(text)
}

// health asks the Sandbox for a sign of life now and then. One that gives none for a while is ended and started again.
func (t *tending) health(ctx context.Context) error {
	if time.Since(t.check) < healthTime {
		return nil
	}
	t.check = time.Now()
	ask, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	_, _, err := t.seat.term.Dead(ask)
	state := claudehub.LinkUp
	if err != nil {
		state = claudehub.LinkDown
		t.ill++
		t.check = time.Time{} // ask again at the next look
	} else {
		t.ill = 0
	}
	t.s.see(ctx, func(o *claudehub.Observed) {
		if o.SandboxLink.State != state {
			o.SandboxLink = claudehub.Link{State: state, Since: now()}
		}
	})
	if t.ill < healthTries || ctx.Err() != nil {
		return nil
	}
	t.s.log.Warn("the Sandbox gives no sign of life; it is started again", "error", err)
	t.s.notice(ctx, "The Sandbox had stopped answering and was started again. Programs that ran in it are gone; files and the conversation are not.")
	if err := t.s.on.cfg.Backend.Stop(ctx, t.s.box(), time.Second); err != nil {
		return err
	}
	return nil // the terminal ends with its Sandbox
}

// interrupt stops a Turn that began before the person asked to.
func (t *tending) interrupt(ctx context.Context, d wire.DesiredSession) {
	if d.StopAt.IsZero() || !d.StopAt.After(t.s.facts().StopAt) {
		return
	}
	if t.act.is == claudehub.Busy || t.act.is == claudehub.NeedsYou {
		if t.act.turn.IsZero() || t.act.turn.Before(d.StopAt) {
			if err := t.seat.press(ctx, "\x1b"); err != nil {
				t.s.log.Warn("not interrupted", "error", err)
				return
			}
		}
	}
	if err := t.s.learn(ctx, func(l *Local) { l.StopAt = d.StopAt }); err != nil {
		t.s.log.Error("interrupt not noted", "error", err)
	}
}

// revive starts Claude again in the same Sandbox, in a terminal of a new life, with its conversation.
func (t *tending) revive(ctx context.Context, notice string) error {
	if notice != "" {
		if err := t.s.countRestart(); err != nil {
			text, _ := t.seat.term.Text(ctx) // what Claude said last, if it can be had
			var se *stepError
			if errors.As(err, &se) {
				se.detail = text
			}
			return err
		}
	}
	d := t.s.wanted()
	token, err := t.s.setupToken(ctx)
	if err != nil {
		return err
	}
	if err := t.s.endClaude(ctx, t.seat); err != nil {
		return err
	}
	resume, err := t.s.conversation(ctx, d)
	if err != nil {
		return err
	}
	if err := t.s.startClaude(ctx, d, token, resume); err != nil {
		return err
	}
	if notice != "" {
		t.s.notice(ctx, notice)
	}
	t.seat = t.s.sitting()
	t.act = activity{is: claudehub.Unknown, doing: t.act.doing} // until it is seen at its prompt
	return nil
}

// show makes the observed state say what is.
func (t *tending) show(ctx context.Context, d wire.DesiredSession) {
	l := t.s.facts()
	generation := d.Generation
	if d.Model != l.Model || d.Effort != l.Effort {
		generation = min(generation, t.s.saw().Generation) // the change waits for the Turn to end
	}
	t.s.see(ctx, func(o *claudehub.Observed) {
		o.Phase, o.Step, o.Failure = claudehub.PhaseAwake, nil, nil
		o.Activity, o.Doing, o.Generation = t.act.is, t.act.doing, generation
	})
}
