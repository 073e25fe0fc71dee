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
	if s.adopt(ctx) {
		return nil
	}
	release, err := s.on.places.take(ctx)
	if err != nil {
		return err
	}
	defer release()
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
	// What is left of an earlier life is ended whole: two Claudes must never write one conversation.
	if err := s.on.cfg.Backend.Stop(ctx, s.box(), time.Second); err != nil {
		return err
	}
	if err := s.startSandbox(ctx, program); err != nil {
		return err
	}
	if err := s.cloneSource(ctx, d.Source); err != nil {
		return err
	}
	resume, err := s.conversation(ctx, d)
	if err != nil {
		return err
	}
	return s.startClaude(ctx, d, token, resume)
}

// volume is the host's side of one of the Session's directories.
func (s *session) volume(name string) string { return filepath.Join(s.dir, name) }

// volumes makes the Session's directories and Claude's first configuration.
func (s *session) volumes(ctx context.Context) error {
	return s.step(ctx, claudehub.PhasePreparing, stepConfig, terminalLimit, func(ctx context.Context, _ func(string, float64)) error {
		for _, name := range []string{"workspace", "config", "report", "backup"} {
			if err := os.MkdirAll(s.volume(name), 0o700); err != nil {
				return err
			}
		}
		return s.seed(ctx)
	})
}

func (s *session) startSandbox(ctx context.Context, program string) error {
	return s.step(ctx, claudehub.PhaseStarting, stepSandbox, sandboxLimit, func(ctx context.Context, _ func(string, float64)) error {
		spec := sandbox.Spec{
			ID: s.box(),
			Mounts: []sandbox.Mount{
				{Host: s.volume("workspace"), Guest: guestWorkspace},
				{Host: s.volume("config"), Guest: guestConfig},
				{Host: s.volume("report"), Guest: guestReport},
				{Host: program, Guest: guestProgram + "/claude", ReadOnly: true},
				{Host: s.on.cfg.ModDir, Guest: guestMod, ReadOnly: true},
			},
			Limits: s.on.cfg.Limits,
		}
		err := s.on.cfg.Backend.Start(ctx, spec)
		if err == nil {
			s.see(ctx, func(o *claudehub.Observed) { o.SandboxLink = claudehub.Link{State: claudehub.LinkUp, Since: now()} })
		}
		return err
	})
}

// stop ends Claude and the Sandbox; what they wrote is on the Session's volumes.
func (s *session) stop(ctx context.Context) error {
	return s.step(ctx, claudehub.PhaseStopping, stepStop, stopLimit, func(ctx context.Context, _ func(string, float64)) error {
		err := s.on.cfg.Backend.Stop(ctx, s.box(), stopGrace)
		if err != nil {
			return err
		}
		s.readReports(ctx, nil)
		s.settle(ctx)
		s.backUp(ctx)
		return s.learn(ctx, func(l *Local) { l.Life = "" })
	})
}
