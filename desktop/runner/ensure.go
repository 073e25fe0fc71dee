package runner

import (
	"context"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// ensure has an image made, if it is not there, and reports how far that is; seen is told as well. With a Session it is
// for that one's wake, and otherwise what a person asked for.
func (b *builds) ensure(ctx context.Context, d wire.DesiredBuild, session claudehub.SessionID, seen func(wire.ObservedBuild)) (sandbox.Image, error) {
	asked := session == ""
	refused := func(err error) error {
		if asked {
			o := queuedBuild(d)
			o.State, o.Failure = claudehub.BuildFailed, failureOf(err, &claudehub.Step{Name: stepEnvironment})
			b.note(ctx, o)
		}
		return err
	}
	if err := b.reserve(ctx); err != nil {
		return "", refused(err)
	}
	recipe, err := b.bound(d)
	if err != nil {
		return "", refused(err)
	}
	mounts, err := b.mounts(ctx)
	if err != nil {
		return "", refused(err)
	}
	if !asked {
		defer b.waking(d.ID)()
	}
	return b.maker.Ensure(ctx, builder.Request{
		ID: d.ID, Environment: d.Environment, Recipe: recipe, Session: session, Explicit: asked, Again: d.Again, Mounts: mounts,
		Variables: func(ctx context.Context) (env, secrets []string, err error) { return b.variables(ctx, d.ID) },
		Report: func(o wire.ObservedBuild) {
			if !asked && b.needless(o) {
				return
			}
			b.note(ctx, o) // first: a Session never names a build that the Hub does not hear of with it
			if seen != nil {
				seen(o)
			}
		},
	})
}

// waking marks a build as begun for a wake, until the wake does not wait for it any more. The Hub, which hears of it,
// desires it then as any other, and who picks it up is settled by that.
func (b *builds) waking(id claudehub.BuildID) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakes[id] = true
	return func() {
		b.mu.Lock()
		delete(b.wakes, id)
		b.mu.Unlock()
		b.wake.set()
	}
}

// needless tells of a report that there was nothing to build: it is no build to be shown.
func (b *builds) needless(o wire.ObservedBuild) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return o.State == claudehub.BuildReady && b.known[o.ID] == nil
}

// variables are what the setup script gets. They are asked for when it begins, and not kept. A build that the Hub has no
// row for yet is asked for until it has.
func (b *builds) variables(ctx context.Context, id claudehub.BuildID) (env, secrets []string, err error) {
	ask, cancel := context.WithTimeout(ctx, buildVariablesLimit)
	defer cancel()
	v, err := askVariables(ask, func(ctx context.Context) (wire.Variables, error) {
		v, err := b.hub.BuildVariables(ctx, id)
		if claudehub.CodeOf(err) == claudehub.NotFound {
			err = claudehub.WithCause(claudehub.Unavailable, err, "The Hub does not know this build yet.")
		}
		return v, err
	})
	if err != nil {
		return nil, nil, err
	}
	env, _ = environ(v.Items)
	for _, i := range v.Items {
		if i.Secret {
			secrets = append(secrets, i.Value)
		}
	}
	return env, secrets, nil
}
