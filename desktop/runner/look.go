package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// A Session of kind look is a shell in the Sandbox that a failed build left. It has no volumes, no Claude, no prompts and
// no secret: what it shows is what the setup script saw.

// lookTime is how often the shell's Sandbox is asked for a sign of life.
const lookTime = 5 * time.Second

// isLook tells this kind.
func isLook(d wire.DesiredSession) bool { return d.Kind == claudehub.KindLook }

// beLook keeps a shell open for as long as it is wanted.
func (s *session) beLook(ctx context.Context, d wire.DesiredSession) (settled bool) {
	err := s.openLook(ctx)
	if err == nil {
		err = s.tendLook(ctx, d)
	}
	s.leaveSeat()
	if err == nil || ctx.Err() != nil {
		return false
	}
	f := failureOf(err, s.saw().Step)
	s.log.Warn("look inside failed", "step", f.Step, "error", err)
	s.see(ctx, func(o *claudehub.Observed) {
		*o = atRest(*o, claudehub.PhaseFailed, d.Generation)
		o.Failure = f
	})
	return true
}

// openLook takes up the shell that runs, or starts one.
func (s *session) openLook(ctx context.Context) error {
	if life := s.facts().Life; life != "" {
		ask, cancel := context.WithTimeout(ctx, s.on.cfg.patient(terminalLimit))
		defer cancel()
		if s.takeSeatAgain(ask, life) == nil {
			return nil
		}
	}
	return s.step(ctx, claudehub.PhaseStarting, stepTerminal, terminalLimit, func(ctx context.Context, _ func(string, float64)) error {
		box, err := s.on.builds.maker.Look(ctx, s.wanted().Build)
		switch {
		case claudehub.CodeOf(err) == claudehub.NotFound:
			return lookGone(err)
		case err != nil:
			return err
		}
		if err := s.learn(ctx, func(l *Local) { l.Box = string(box) }); err != nil {
			return err
		}
		shell, err := s.runInBox(ctx, sandbox.Command{Path: "sh", Args: []string{"-c", "command -v tmux >/dev/null || exit 3; command -v bash || command -v sh"}})
		if err != nil {
			return &stepError{
				step: stepTerminal, fix: "Read the build's log: it names the line that failed.",
				err: claudehub.WithCause(claudehub.Unavailable, err, "The build failed before its Sandbox had what a terminal needs: a shell and tmux."),
			}
		}
		life := claudehub.NewNonce()
		if err := s.learn(ctx, func(l *Local) { l.Life = life }); err != nil {
			return err
		}
		cols, rows := s.inputs.wantedSize()
		path, args := tmux.StartCommand(tmux.Start{Socket: socket(life), Cols: cols, Rows: rows, Argv: []string{strings.TrimSpace(shell), "-l"}})
		if _, err := s.runInBox(ctx, sandbox.Command{Path: path, Args: args}); err != nil {
			return err
		}
		return s.takeSeat(ctx, life)
	})
}

func lookGone(err error) error {
	return &stepError{
		step: stepLook, fix: fmt.Sprintf("Archive this, and build again: a failed build's Sandbox is kept for %d hours.", int(claudehub.KeepFailed.Hours())),
		err: claudehub.WithCause(claudehub.NotFound, err, "The Sandbox of the failed build is gone, and with it what was to be seen there."),
	}
}

// tendLook shows the shell until something else is wanted. A shell that was left is followed by another.
func (s *session) tendLook(ctx context.Context, d wire.DesiredSession) error {
	seat := s.sitting()
	s.see(ctx, func(o *claudehub.Observed) {
		*o = claudehub.Observed{
			Phase: claudehub.PhaseAwake, Activity: claudehub.Ready, Generation: d.Generation, Since: o.Since,
			SandboxLink: claudehub.Link{State: claudehub.LinkUp, Since: now()},
		}
	})
	for ctx.Err() == nil {
		timer := time.NewTimer(lookTime)
		select {
		case <-ctx.Done():
		case <-s.changed.c:
		case <-timer.C:
			ask, cancel := context.WithTimeout(ctx, s.on.agentPatience)
			err := s.on.cfg.Backend.Ping(ask, s.box())
			cancel()
			if claudehub.CodeOf(err) == claudehub.NotFound {
				return lookGone(err)
			}
			// tmux does not always say that a program ended.
			if dead, err := seat.dead(ctx); err == nil && dead {
				return errors.Join(s.endLook(ctx), s.countRestart())
			}
		case <-seat.died:
			timer.Stop()
			return errors.Join(s.endLook(ctx), s.countRestart())
		case <-seat.done:
			timer.Stop()
			return s.countRestart()
		}
		timer.Stop()
	}
	return nil
}

// endLook ends a terminal whose shell has ended.
func (s *session) endLook(ctx context.Context) error {
	s.leaveSeat()
	ctx, cancel := context.WithTimeout(ctx, s.on.cfg.patient(askTime))
	defer cancel()
	if _, err := s.runInBox(ctx, tmuxCommand(s.facts().Life, "kill-server")); err != nil {
		s.log.Debug("tmux had ended", "error", err)
	}
	return s.learn(ctx, func(l *Local) { l.Life = "" })
}

// closeLook gives the Sandbox up: there is nothing else that would keep it.
func (s *session) closeLook(ctx context.Context, d wire.DesiredSession, phase claudehub.Phase) (settled bool) {
	if o := s.saw(); o.Phase == phase && o.Generation == d.Generation {
		return true
	}
	if phase != claudehub.PhaseAsleep {
		err := s.step(ctx, claudehub.PhaseStopping, stepStop, stopLimit, func(ctx context.Context, _ func(string, float64)) error {
			return s.on.releaseKept(ctx, d.Build)
		})
		if err != nil {
			if ctx.Err() != nil {
				return false
			}
			s.see(ctx, func(o *claudehub.Observed) {
				*o = atRest(*o, claudehub.PhaseFailed, d.Generation)
				o.Failure = failureOf(err, nil)
			})
			return true
		}
	}
	s.see(ctx, func(o *claudehub.Observed) { *o = atRest(*o, phase, d.Generation) })
	return true
}
