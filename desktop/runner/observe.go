package runner

import (
	"context"
	"reflect"

	"claude-hub/internal/claudehub"
)

// facts returns what the Runner knows of the Session; learn changes it, on disk before it returns.
func (s *session) facts() Local {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.local
}

func (s *session) learn(ctx context.Context, change func(*Local)) error {
	s.mu.Lock()
	change(&s.local)
	l := s.local
	s.mu.Unlock()
	return s.on.state.SaveLocal(ctx, s.id, l)
}

// saw returns the observed state; see changes it and reports it.
func (s *session) saw() claudehub.Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observed
}

func (s *session) see(ctx context.Context, change func(*claudehub.Observed)) {
	s.mu.Lock()
	old := s.observed
	change(&s.observed)
	if s.observed.Phase != old.Phase || s.observed.Activity != old.Activity {
		s.observed.Since = now()
	}
	o := s.observed
	s.mu.Unlock()
	if reflect.DeepEqual(o, old) {
		return
	}
	if err := s.on.state.SaveObserved(ctx, s.id, o); err != nil && ctx.Err() == nil {
		s.log.Error("observed state not saved", "error", err)
	}
	s.on.observe(s.id)
}

// atRest is what can be said of a Session whose Sandbox does not run. What it holds on the disk is as it was; a failed one
// names the build that may be the reason.
func atRest(o claudehub.Observed, phase claudehub.Phase, generation int64) claudehub.Observed {
	build := o.Build
	if phase != claudehub.PhaseFailed {
		build = ""
	}
	return claudehub.Observed{
		Phase: phase, Generation: generation, Doing: o.Doing, Notice: o.Notice, Noticed: o.Noticed, Since: o.Since,
		SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now()},
		Environment: o.Environment, Build: build, Figures: claudehub.Figures{Disk: o.Figures.Disk, DiskLimit: o.Figures.DiskLimit},
	}
}
