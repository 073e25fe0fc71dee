package runner

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Time limits of the steps.
const (
	tokenLimit    = 30 * time.Second // a keychain may ask to be unlocked
	placeLimit    = 15 * time.Minute
	programLimit  = 10 * time.Minute
	sandboxLimit  = time.Minute
	cloneLimit    = 20 * time.Minute
	terminalLimit = 30 * time.Second
	claudeLimit   = 2 * time.Minute
	stopLimit     = time.Minute
	stopGrace     = 8 * time.Second
)

// Paths in a Sandbox.
const (
	guestWorkspace = "/workspace"
	guestConfig    = "/claude"
	guestProgram   = "/opt/claude-hub/claude"
	guestMod       = "/opt/claude-hub/mod"
	guestReport    = "/opt/claude-hub/report"
)

// wake brings the Session to Claude's prompt, from wherever it is. What runs already is left as it is: a Runner that was
// killed finds its Sandbox, its terminal and Claude, and shows no step at all.
func (s *session) wake(ctx context.Context, d wire.DesiredSession) error {
	if !s.startFailed() && s.adopt(ctx, d) {
		return nil
	}
	s.wokenAgain(ctx)
	token, err := s.setupToken(ctx)
	if err != nil {
		return err
	}
	program, err := s.program(ctx)
	if err != nil {
		return err
	}
	if err := s.volumes(ctx); err != nil {
		return err
	}
	if err := s.takeVariables(ctx, d); err != nil {
		return err
	}
	if err := s.enterSandbox(ctx, d, program); err != nil {
		return err
	}
	// Without a place: a clone may take long, and its machine has little to do.
	if err := s.cloneSource(ctx, d.Source); err != nil {
		return err
	}
	s.reportDevcontainer(ctx)
	return s.inPlace(ctx, func() error {
		resume, err := s.conversation(ctx, d)
		if err != nil {
			return err
		}
		return s.startClaude(ctx, d, token, resume)
	})
}

// startFailed tells that Claude did not come to its prompt: what is left of that is not taken up by a retry.
func (s *session) startFailed() bool {
	f := s.saw().Failure
	return f != nil && (f.Step == stepTerminal || f.Step == stepClaude || f.Step == stepEnd)
}

// inPlace does f while it is this Session's turn, and shows that it waits for that.
func (s *session) inPlace(ctx context.Context, f func() error) error {
	if release, ok := s.on.places.tryTake(); ok {
		defer release()
		return f()
	}
	var release func()
	err := s.step(ctx, claudehub.PhasePreparing, stepPlace, placeLimit, func(ctx context.Context, _ func(string, float64)) error {
		var err error
		release, err = s.on.places.take(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// volume is the host's side of one of the Session's directories.
func (s *session) volume(name string) string { return filepath.Join(s.dir, name) }

// volumes makes the Session's directories and Claude's first configuration.
func (s *session) volumes(ctx context.Context) error {
	return s.step(ctx, claudehub.PhasePreparing, stepConfig, terminalLimit, func(ctx context.Context, _ func(string, float64)) error {
		if err := s.on.reserve(ctx); err != nil {
			return err
		}
		for _, name := range []string{"workspace", "config", "report", "backup"} {
			if err := os.MkdirAll(s.volume(name), 0o700); err != nil {
				return err
			}
		}
		return s.seed(ctx)
	})
}

// mounts are the Session's volumes, Claude Code and its mod, as its Sandbox sees them.
func (s *session) mounts(program string) []sandbox.Mount {
	return []sandbox.Mount{
		{Host: s.volume("workspace"), Guest: guestWorkspace},
		{Host: s.volume("config"), Guest: guestConfig},
		{Host: s.volume("report"), Guest: guestReport},
		{Host: program, Guest: guestProgram + "/claude", ReadOnly: true},
		{Host: s.on.cfg.ModDir, Guest: guestMod, ReadOnly: true},
	}
}

func (s *session) startSandbox(ctx context.Context, spec sandbox.Spec, env *claudehub.EnvironmentRef) error {
	return s.step(ctx, claudehub.PhaseStarting, stepSandbox, sandboxLimit, func(ctx context.Context, _ func(string, float64)) error {
		// What is left of an earlier life is ended whole: two Claudes must never write one conversation.
		err := s.on.cfg.Backend.Stop(ctx, s.box(), time.Second)
		if err == nil {
			err = s.learn(ctx, func(l *Local) { l.Image = string(spec.Image) })
		}
		if err == nil {
			err = s.on.cfg.Backend.Start(ctx, spec)
		}
		if err == nil {
			s.see(ctx, func(o *claudehub.Observed) {
				o.SandboxLink = claudehub.Link{State: claudehub.LinkUp, Since: now()}
				o.Environment, o.Build = env, ""
				o.Figures.CPUs, o.Figures.MemoryLimit, o.Figures.DiskLimit = spec.Limits.CPUs, spec.Limits.MemoryBytes, spec.Limits.DiskBytes
			})
		}
		return err
	})
}

// stop ends Claude and the Sandbox; what they wrote is on the Session's volumes.
func (s *session) stop(ctx context.Context) error {
	return s.step(ctx, claudehub.PhaseStopping, stepStop, stopLimit, func(ctx context.Context, _ func(string, float64)) error {
		return s.halt(ctx)
	})
}

func (s *session) halt(ctx context.Context) error {
	s.readReports(ctx, nil, maxAtEnd)
	s.awaitWritten(ctx)
	if err := s.on.cfg.Backend.Stop(ctx, s.box(), stopGrace); err != nil {
		return err
	}
	s.holdVariables(nil)
	s.readReports(ctx, nil, maxAtEnd)
	s.settle(ctx)
	s.backUp(ctx)
	return s.learn(ctx, func(l *Local) { l.Life = "" })
}

// standDown stops the Sandbox of a Session that failed, and gives up its room. One that cannot be stopped keeps it.
func (s *session) standDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.on.cfg.patient(stopLimit))
	defer cancel()
	if err := s.halt(ctx); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("the Sandbox of a failed Session is not stopped", "error", err)
		}
		return
	}
	s.on.room.leave(s.id)
}
