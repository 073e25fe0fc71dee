package runner

import (
	"context"
	"errors"
	"strings"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// environmentLimit bounds the waiting for an image: a build's own limit, and one that was under way before it.
const environmentLimit = 2*claudehub.BuildLimit + 10*time.Minute

// enterSandbox brings up the Sandbox that the Session's recipe describes: its image, which is built if it is not there,
// within its limits, once there is room for one more.
func (s *session) enterSandbox(ctx context.Context, d wire.DesiredSession, program string) error {
	recipe, env := recipeOf(d)
	limits, said, err := limitsOf(recipe, env, s.on.size, s.on.cfg.Limits)
	if err != nil {
		return err
	}
	if said != "" {
		s.noticeOnce(ctx, "limits", said)
	}
	const tries = 2 // an image that was collected between its making and the start is made again
	for try := 1; ; try++ {
		image, err := s.image(ctx, d, recipe, try > 1)
		if err != nil {
			return err
		}
		if err := s.findRoom(ctx, limits.MemoryBytes); err != nil {
			return err
		}
		spec := sandbox.Spec{
			ID: s.box(), Image: image, Mounts: s.mounts(program), Limits: limits,
			Network: sandbox.Network{Policy: recipe.Network, Allow: recipe.Allow}, Relay: s.on.cfg.relay(),
		}
		err = s.inPlace(ctx, func() error { return s.startSandbox(ctx, spec, env) })
		if err == nil || try == tries || !s.collected(ctx, image) {
			return err
		}
	}
}

// collected tells that an image that was there is not any more.
func (s *session) collected(ctx context.Context, image sandbox.Image) bool {
	if image == "" {
		return false
	}
	all, err := s.on.cfg.Backend.Images(ctx)
	if err != nil {
		return false
	}
	for _, i := range all {
		if i.Image == image {
			return false
		}
	}
	return true
}

// image is what the Session's Sandbox starts from; "" where the machine's own system is all that is asked for. It waits
// for a build, its own or one that is under way, and shows how far that is. With again it is made although it was there.
func (s *session) image(ctx context.Context, d wire.DesiredSession, recipe claudehub.Recipe, again bool) (sandbox.Image, error) {
	if !recipe.Builds() && !s.on.cfg.Backend.NeedsBase() {
		return "", nil
	}
	var image sandbox.Image
	err := s.step(ctx, claudehub.PhasePreparing, stepEnvironment, environmentLimit, func(ctx context.Context, progress func(string, float64)) error {
		want := wire.DesiredBuild{ID: claudehub.NewBuildID(), Recipe: recipe, Again: again}
		if d.Environment != nil {
			want.Environment = d.Environment.EnvironmentRef
		}
		var err error
		image, err = s.on.builds.ensure(ctx, want, s.id, func(o wire.ObservedBuild) {
			s.see(ctx, func(seen *claudehub.Observed) { seen.Build = o.ID })
			progress(runningStep(o))
		})
		return err
	})
	if err != nil {
		return "", buildFailed(err)
	}
	s.on.builds.maker.Used(recipe.Hash())
	s.see(ctx, func(o *claudehub.Observed) { o.Build = "" })
	return image, nil
}

// runningStep is what a build is at, for who waits for it.
func runningStep(o wire.ObservedBuild) (string, float64) {
	for _, k := range o.Steps {
		if k.State == claudehub.StepRunning {
			return oneLine(k.Name + ": " + k.Detail), k.Progress
		}
	}
	return "", -1
}

// buildFailed says of a build that failed what a Session that waited for it can do.
func buildFailed(err error) error {
	var f *builder.Failed
	if !errors.As(err, &f) {
		return err
	}
	fix := strings.TrimSpace(f.Failure.Fix + " The build's log has all of it. Then wake the Session again.")
	if f.Cancelled {
		fix = "Wake the Session again to build it, or put it on another Environment."
	}
	return &stepError{
		step: stepEnvironment, fix: fix, detail: f.Failure.Detail, retry: true,
		err: claudehub.WithCause(claudehub.Unavailable, err, "%s", strings.TrimSpace(f.Failure.Reason)),
	}
}
