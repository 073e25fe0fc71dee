package fleet

import (
	"context"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	listedBuilds = 50
	// maxOpenBuilds bounds what one Runner has to build.
	maxOpenBuilds = 50
	// Of an Environment the newest builds stay, and the logs of the newest of them, for a while.
	keptBuilds = 200
	keptLogs   = 20
	logsLife   = 30 * 24 * time.Hour
)

// Builds lists the newest Builds of an Environment, the newest first.
func (f *Fleet) Builds(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) ([]claudehub.Build, error) {
	if _, err := f.Environment(ctx, p, id); err != nil {
		return nil, err
	}
	all, err := f.st.Read().Builds(ctx, id, listedBuilds)
	out := make([]claudehub.Build, len(all))
	for i, b := range all {
		out[i] = b.Build
	}
	return out, err
}

// Build finds a Build that a person may see: who pressed Build, or whose Session needed it.
func (f *Fleet) Build(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID) (claudehub.Build, error) {
	b, err := ownBuild(ctx, f.st.Read(), p, id)
	return b.Build, err
}

func ownBuild(ctx context.Context, q store.Q, p claudehub.PersonID, id claudehub.BuildID) (store.Build, error) {
	b, err := q.Build(ctx, id)
	if err != nil {
		return store.Build{}, absent(err, errNoBuild)
	}
	if p == "" || b.By != p {
		return store.Build{}, errNoBuild
	}
	return b, nil
}

// NewBuild is what a person asks for. Version 0 is the newest; Again also builds when an image is there.
type NewBuild struct {
	Environment claudehub.EnvironmentID
	Runner      claudehub.RunnerID
	Version     int
	Again       bool
}

// CreateBuild asks a Runner to build. While it has an open Build of the same recipe, that is the answer. Nothing here
// waits for the Runner: one that is away builds when it comes back.
func (f *Fleet) CreateBuild(ctx context.Context, p claudehub.PersonID, n NewBuild) (claudehub.Build, error) {
	var b store.Build
	fresh := false
	err := f.st.Write(ctx, func(q store.Q) error {
		r, err := lockRunner(ctx, q, p, n.Runner)
		if err != nil {
			return err
		}
		e, err := lockEnvironment(ctx, q, p, n.Environment)
		if err != nil {
			return err
		}
		if e.Archived {
			return errArchivedEnvironment
		}
		if !r.Revoked.IsZero() {
			return errRevoked
		}
		if err := canBuild(r); err != nil {
			return err
		}
		version, recipe, err := versionOf(ctx, q, e, n.Version)
		if err != nil {
			return err
		}
		if b, err = q.OpenBuildOf(ctx, r.ID, recipe.Hash()); claudehub.CodeOf(err) != claudehub.NotFound {
			return err // found, or cannot tell
		}
		now := f.now()
		b = store.Build{Again: n.Again, Build: claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: version, Hash: recipe.Hash(),
			Runner: r.ID, By: p, State: claudehub.BuildQueued, Steps: []claudehub.BuildStep{}, Created: now, Updated: now}}
		fresh = true
		if err := addBuild(ctx, q, b); err != nil {
			return err
		}
		return f.note(asActor(ctx, p), q, "build.create", string(b.ID), map[string]string{"environment": string(e.ID), "runner": string(r.ID)})
	})
	if err != nil {
		return claudehub.Build{}, err
	}
	if fresh {
		f.buildChanged(p, b.Build)
		f.nudge(b.Runner)
	}
	return b.Build, nil
}

// canBuild: a Runner of the first protocol would leave a build queued for ever, and run a Session on its default recipe.
func canBuild(r store.Runner) error {
	if r.Machine.Protocol == 1 {
		return claudehub.Errorf(claudehub.Conflict, "The Runner program on %s is too old for Environments. Update it.", r.Name)
	}
	return nil
}

// addBuild stores a Build and gives the Runner's machine its next number.
func addBuild(ctx context.Context, q store.Q, b store.Build) error {
	open, err := q.OpenBuilds(ctx, b.Runner)
	if err != nil {
		return err
	}
	if len(open) >= maxOpenBuilds {
		return claudehub.Errorf(claudehub.TooMany, "%d builds wait on this Runner, which is the most. Cancel one, or wait until some are done.", len(open))
	}
	if err := q.AddBuild(ctx, b); err != nil {
		return err
	}
	if err := q.PruneBuilds(ctx, b.Environment, keptBuilds, keptLogs); err != nil {
		return err
	}
	_, err = q.NextMachineSeq(ctx, b.Runner)
	return err
}

// CancelBuild asks the Runner to give a Build up.
func (f *Fleet) CancelBuild(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID) (claudehub.Build, error) {
	found, err := ownBuild(ctx, f.st.Read(), p, id) // for its Runner, which never changes
	if err != nil {
		return claudehub.Build{}, err
	}
	var b store.Build
	changed := false
	err = f.st.Write(ctx, func(q store.Q) error {
		if _, err := q.LockRunner(ctx, found.Runner); err != nil {
			return err
		}
		if b, err = q.LockBuild(ctx, id); err != nil {
			return absent(err, errNoBuild)
		}
		switch {
		case b.State == claudehub.BuildCancelled || b.Cancelling:
			return nil
		case b.State.Final():
			return claudehub.Errorf(claudehub.Conflict, "This build is over: it is %s.", b.State)
		}
		b.Cancelling, b.Updated, changed = true, f.now(), true
		if err := q.SetBuild(ctx, b); err != nil {
			return err
		}
		if err := f.note(asActor(ctx, p), q, "build.cancel", string(id), nil); err != nil {
			return err
		}
		_, err := q.NextMachineSeq(ctx, b.Runner)
		return err
	})
	if err != nil {
		return claudehub.Build{}, err
	}
	if changed {
		f.buildChanged(p, b.Build)
		f.nudge(b.Runner)
	}
	return b.Build, nil
}

// desiredMachine is what is desired of a Runner's machine as a whole.
func desiredMachine(ctx context.Context, q store.Q, r store.Runner) (wire.DesiredMachine, error) {
	out := wire.DesiredMachine{Seq: r.MachineSeq, Builds: []wire.DesiredBuild{}, Reclaim: r.Reclaim, What: append([]string{}, r.ReclaimWhat...)}
	open, err := q.OpenBuilds(ctx, r.ID)
	if err != nil {
		return out, err
	}
	recipes := newRecipes(q)
	for _, b := range open {
		e, err := recipes.of(ctx, claudehub.EnvironmentRef{ID: b.Environment, Version: b.Version})
		if err != nil {
			return out, err
		}
		out.Builds = append(out.Builds, wire.DesiredBuild{ID: b.ID, Environment: e.EnvironmentRef, Recipe: e.Recipe, Cancel: b.Cancelling, Again: b.Again})
	}
	return out, nil
}

// recipes looks each version of an Environment up once.
type recipes struct {
	q     store.Q
	known map[claudehub.EnvironmentRef]wire.DesiredEnvironment
}

func newRecipes(q store.Q) recipes {
	return recipes{q: q, known: map[claudehub.EnvironmentRef]wire.DesiredEnvironment{}}
}

// of is the recipe of a version; of no Environment, the default one.
func (r recipes) of(ctx context.Context, ref claudehub.EnvironmentRef) (wire.DesiredEnvironment, error) {
	if ref.ID == "" {
		return wire.DesiredEnvironment{Recipe: claudehub.DefaultRecipe()}, nil
	}
	ref.Name = ""
	if e, known := r.known[ref]; known {
		return e, nil
	}
	v, err := r.q.EnvironmentVersion(ctx, ref.ID, ref.Version)
	if err != nil {
		return wire.DesiredEnvironment{}, err
	}
	name, err := r.q.EnvironmentName(ctx, ref.ID)
	if err != nil {
		return wire.DesiredEnvironment{}, err
	}
	e := wire.DesiredEnvironment{EnvironmentRef: claudehub.EnvironmentRef{ID: ref.ID, Version: ref.Version, Name: name}, Recipe: v.Recipe}
	r.known[ref] = e
	return e, nil
}
