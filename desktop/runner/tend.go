package runner

import (
	"context"
	"errors"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// How often a tended Session is looked at: often while something is expected, seldom while it rests.
const (
	lookSoon   = 250 * time.Millisecond
	lookSeldom = 5 * time.Second
	// illTime is how long a Sandbox may give no sign of life.
	illTime = 15 * time.Second
	// quietTime is how long the screen must rest before it is asked whether Claude is at its prompt; restTime is how long
	// when it does not say: in a narrow terminal it lacks the words, but what moves while Claude works is there.
	quietTime = time.Second
	restTime  = 4 * time.Second
	// silentTime is how long a report may be behind the screen, or the screen behind a report, until it is taken for lost.
	// On an emulated machine ten seconds were seen.
	silentTime = 30 * time.Second
)

// tending is one stretch of an awake Session: from an attached terminal to its end.
type tending struct {
	s    *session
	seat *seat
	act  activity
	ill  time.Time // since when the Sandbox gives no sign of life; zero while it does

	alarmed bool      // the person was told that memory is short
	asked   time.Time // when Claude's own memory was looked at
}

// tend keeps the Session awake: it takes Claude's reports, delivers prompts, brings Claude back when it ends. It returns
// nil when the terminal ended or the person wants something else, and an error that only a person can mend.
func (s *session) tend(ctx context.Context, d wire.DesiredSession) error {
	t := &tending{s: s, seat: s.sitting(), act: s.lastActivity(ctx)}
	reports, stop := s.watchReports(ctx)
	defer stop()
	t.show(ctx, d)
	s.checksMended(ctx)
	for ctx.Err() == nil {
		s.receivePrompts(ctx, s.wanted())
		began := time.Now()
		if err := t.look(ctx); err != nil {
			return s.orRestart(err)
		}
		timer := time.NewTimer(rest(t.pace(), time.Since(began), lookSeldom))
		select {
		case <-ctx.Done():
		case <-s.changed.c:
		case <-reports:
		case <-timer.C:
		case <-t.seat.died:
			if err := t.revive(ctx, "Claude Code had ended; its conversation was resumed."); err != nil {
				timer.Stop()
				return s.orRestart(err)
			}
		case <-t.seat.done:
			timer.Stop()
			return s.countRestart()
		}
		timer.Stop()
	}
	return nil
}

// errEnded tells that the terminal ended by itself, and whatever was under way with it.
var errEnded = errors.New("the terminal ended")

// unlessEnded passes an error on, unless the terminal has ended, or does so at once: then it is the reason.
func (t *seat) unlessEnded(err error) error {
	select {
	case <-t.done:
		return errors.Join(errEnded, err)
	case <-time.After(lookSoon):
		return err
	}
}

// lastActivity is what Claude did when a Runner process last saw it. A Turn that began then is still to end.
func (s *session) lastActivity(ctx context.Context) activity {
	o := s.saw()
	a := activity{is: o.Activity, doing: o.Doing}
	ledger, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not read", "error", err)
	}
	accepted := false
	for _, e := range ledger {
		accepted = accepted || e.Stage == StageAccepted
	}
	switch {
	case a.is == claudehub.Busy, a.is == claudehub.NeedsYou:
		a.turn = o.Since
	case accepted:
		a.is, a.turn = claudehub.Busy, now()
	case a.is == "":
		a.is = claudehub.Unknown
	}
	return a
}

// orRestart counts a terminal that ended as a restart, which the next look does; other errors it passes on.
func (s *session) orRestart(err error) error {
	if !errors.Is(err, errEnded) {
		return err
	}
	s.log.Warn("the terminal ended", "error", err)
	return s.countRestart()
}

// rest is the pause between looks of which the last took so long. Where looks are slow, they take no more than a tenth of
// the Sandbox's time from Claude; but one that had much to do is no reason to look away for longer than most.
func rest(pause, took, most time.Duration) time.Duration {
	return max(pause, min(9*took, most))
}

// over tells from the screen, which is at the prompt, that the Turn that runs has ended. Claude reports each end but that of
// a Turn that a person stopped; of that the screen says so, or has the prompt back in the box. Where it was not seen at
// work since the report of the beginning, or does not say how it ended, the screen may just be behind, as in a Sandbox
// on a busy machine: a report is waited for.
func (t *tending) over(screen claude.Screen) bool {
	rested := min(t.seat.quietFor(), time.Since(t.act.turn)) > quietTime
	stopped := screen.Stopped || !screen.InputEmpty && sameText(screen.Input, t.act.prompt)
	if t.act.turn.IsZero() || t.act.worked && stopped {
		return rested
	}
	return rested && time.Since(t.act.prompting) > silentTime
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
	if err := t.s.takeEnding(); err != nil {
		return err
	}
	if err := t.checkIfDue(ctx); err != nil {
		return err
	}
	t.s.readReports(ctx, &t.act, maxAtOnce)
	// Noted at once: who tends after this one may be cut off here goes on from it, and the report is gone.
	t.s.see(ctx, func(o *claudehub.Observed) { o.Activity, o.Doing = t.act.is, t.act.doing })
	dead, well, err := t.health(ctx)
	switch {
	case err != nil || !well:
		return err
	case dead:
		return t.revive(ctx, "Claude Code had ended; its conversation was resumed.")
	}
	screen := t.screen(ctx)
	t.act.worked = t.act.worked || screen.Kind == claude.ScreenBusy || screen.Kind == claude.ScreenAsking
	if screen.Kind == claude.ScreenUnknown && screen.Box && t.seat.quietFor() > restTime {
		screen.AtPrompt = true
	}
	switch {
	case !screen.AtPrompt:
		t.act.prompting = time.Time{}
	case t.act.prompting.IsZero():
		t.act.prompting = time.Now()
	}
	if screen.AtPrompt && t.act.is != claudehub.Ready && t.over(screen) {
		if t.act.screenIdle().ended {
			t.s.turnOver(ctx, "Interrupted.", t.act)
		}
	}
	t.interrupt(ctx, d)
	if err := t.watchMemory(ctx); err != nil {
		return err
	}
	l := t.s.facts()
	if (d.Model != l.Model || d.Effort != l.Effort) && t.between(ctx) {
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

// between tells that Claude can be started again without cutting a Turn or a prompt on its way.
func (t *tending) between(ctx context.Context) bool {
	if t.act.is == claudehub.Busy || !t.act.turn.IsZero() {
		return false
	}
	_, busy := t.s.inFlight(ctx)
	return !busy
}

// screen reads the terminal, when its word is wanted.
func (t *tending) screen(ctx context.Context) claude.Screen {
	if t.act.is == claudehub.Ready && len(t.s.wanted().Prompts) == 0 {
		return claude.Screen{}
	}
	text, err := t.seat.text(ctx)
	if err != nil {
		return claude.Screen{}
	}
	return claude.ReadScreen(text)
}

// health asks the Sandbox for a sign of life: whether Claude's process has ended. A Sandbox that gives none for a while
// is ended and started again.
func (t *tending) health(ctx context.Context) (dead, well bool, err error) {
	asked := time.Now()
	dead, sick := t.seat.dead(ctx)
	if ctx.Err() != nil {
		return false, false, nil
	}
	state := claudehub.LinkUp
	switch {
	case sick == nil:
		t.ill = time.Time{}
	case t.ill.IsZero():
		t.ill = asked
		fallthrough
	default:
		state = claudehub.LinkDown
	}
	t.s.see(ctx, func(o *claudehub.Observed) {
		if o.SandboxLink.State != state {
			o.SandboxLink = claudehub.Link{State: state, Since: now()}
		}
	})
	if sick == nil || time.Since(t.ill) < t.s.on.illTime {
		return dead, sick == nil, nil
	}
	t.s.log.Warn("the Sandbox gives no sign of life; it is started again", "error", sick)
	t.s.notice(ctx, "The Sandbox had stopped answering and was started again. Programs that ran in it are gone; files and the conversation are not.")
	stop, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	// The terminal ends with its Sandbox.
	return false, false, t.s.on.cfg.Backend.Stop(stop, t.s.box(), time.Second)
}

// interrupt stops the Turn that runs when a new request to is seen. Prompts that came after the request are not sent
// before that (see deliver), so that no clock of another machine is asked which was first.
func (t *tending) interrupt(ctx context.Context, d wire.DesiredSession) {
	if !d.StopAt.After(t.s.facts().StopAt) {
		return
	}
	if t.act.is == claudehub.Busy || t.act.is == claudehub.NeedsYou {
		if err := t.seat.press(ctx, "\x1b"); err != nil {
			t.s.log.Warn("not interrupted", "error", err)
			return
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
			text, _ := t.seat.text(ctx) // what Claude said last, if it can be had
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
	if err := t.s.ensureVariables(ctx, d); err != nil {
		return err
	}
	if err := t.s.endClaude(ctx, t.seat); err != nil {
		return t.seat.unlessEnded(err)
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
