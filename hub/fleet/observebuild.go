package fleet

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	maxBuildsInStatus = 500
	maxSteps          = 50
	maxBuildLine      = 1 << 20
)

var (
	buildHash  = regexp.MustCompile(`^[0-9a-f]{32}$`)
	buildOrder = []claudehub.BuildState{claudehub.BuildQueued, claudehub.BuildBuilding, claudehub.BuildReady, claudehub.BuildFailed, claudehub.BuildCancelled}
	stepStates = []claudehub.BuildStepState{claudehub.StepWaiting, claudehub.StepRunning, claudehub.StepCached, claudehub.StepDone, claudehub.StepFailed}
)

// builtNews are the builds of a status that are worth storing.
type builtNews struct {
	seen []wire.ObservedBuild
	gone []claudehub.BuildID
}

// lookAtBuilds sorts what a Runner says of builds, by reads alone: most statuses have no news.
func (f *Fleet) lookAtBuilds(ctx context.Context, r store.Runner, all []wire.ObservedBuild) (builtNews, error) {
	var out builtNews
	if len(all) > maxBuildsInStatus {
		f.log.Warn("a Runner reports too many builds", "runner", r.ID, "builds", len(all))
		all = all[:maxBuildsInStatus]
	}
	for _, o := range all {
		if !parses(claudehub.ParseBuildID(string(o.ID))) || !slices.Contains(buildOrder, o.State) {
			f.log.Warn("a Runner reports a malformed build", "runner", r.ID, "build", clip(string(o.ID), 60))
			out.gone = append(out.gone, claudehub.BuildID(clip(string(o.ID), 60)))
			continue
		}
		o = tidyBuild(o, f.now())
		b, err := f.st.Read().Build(ctx, o.ID)
		switch {
		case claudehub.CodeOf(err) == claudehub.NotFound:
			out.seen = append(out.seen, o)
		case err != nil:
			return out, err
		case b.Runner != r.ID:
			out.gone = append(out.gone, o.ID)
		default:
			if next := advance(b, o); buildIsNews(b, next) {
				out.seen = append(out.seen, o)
			}
		}
	}
	return out, nil
}

// storeBuilds stores what lookAtBuilds found, while nobody else changes the Runner's desired state.
func (f *Fleet) storeBuilds(ctx context.Context, q store.Q, r store.Runner, news *builtNews) (changed []store.Build, err error) {
	machine := false
	for _, o := range news.seen {
		b, err := q.LockBuild(ctx, o.ID)
		switch {
		case claudehub.CodeOf(err) == claudehub.NotFound:
			b, made, err := f.adoptBuild(ctx, q, r, o)
			if err != nil {
				return nil, err
			}
			if !made {
				news.gone = append(news.gone, o.ID)
				continue
			}
			changed = append(changed, b)
			continue
		case err != nil:
			return nil, err
		}
		next := advance(b, o)
		if !buildIsNews(b, next) {
			continue
		}
		next.Updated = f.now()
		if err := q.SetBuild(ctx, next); err != nil {
			return nil, err
		}
		machine = machine || next.State.Final() != b.State.Final()
		changed = append(changed, next)
	}
	if machine {
		_, err = q.NextMachineSeq(ctx, r.ID)
	}
	return changed, err
}

// adoptBuild makes the row of a build that the Runner began by itself, for a Session whose image was not there.
func (f *Fleet) adoptBuild(ctx context.Context, q store.Q, r store.Runner, o wire.ObservedBuild) (store.Build, bool, error) {
	if !buildHash.MatchString(o.Hash) {
		return store.Build{}, false, nil
	}
	if err := needsBuild(ctx, q, r, o); err != nil {
		return refuse(err)
	}
	now := f.now()
	b := store.Build{Build: claudehub.Build{ID: o.ID, Environment: o.Environment, Version: o.Version, Hash: o.Hash, Runner: r.ID, By: r.Owner,
		State: claudehub.BuildQueued, Steps: []claudehub.BuildStep{}, Created: now, Updated: now}}
	b = advance(b, o)
	err := addBuild(ctx, q, b)
	if claudehub.CodeOf(err) == claudehub.TooMany {
		f.log.Warn("a Runner began more builds than it may have", "runner", r.ID, "build", o.ID)
		return store.Build{}, false, nil
	}
	return b, err == nil, err
}

// needsBuild tells that a Session of the Runner's needs what a build makes: a version of an Environment that it has, of the
// same owner, or the default recipe.
func needsBuild(ctx context.Context, q store.Q, r store.Runner, o wire.ObservedBuild) error {
	if o.Environment == "" {
		s, err := q.Session(ctx, o.Session)
		if err == nil && s.Environment != nil {
			err = errNoBuild
		}
		return errors.Join(err, runs(r.ID, s))
	}
	if _, err := q.SessionWithEnvironment(ctx, r.ID, o.Environment); err != nil {
		return err
	}
	if _, err := q.EnvironmentVersion(ctx, o.Environment, o.Version); err != nil {
		return err
	}
	owner, err := q.EnvironmentOwner(ctx, o.Environment)
	if err == nil && owner != r.Owner {
		err = errNoBuild
	}
	return err
}

// refuse tells "no" from "cannot tell".
func refuse(err error) (store.Build, bool, error) {
	if claudehub.CodeOf(err) == claudehub.NotFound {
		err = nil
	}
	return store.Build{}, false, err
}

// advance is a Build as it is after a report. States go forward alone; of one that is over, only its Sandbox changes.
func advance(b store.Build, o wire.ObservedBuild) store.Build {
	if b.State.Final() {
		if o.State == b.State && b.State == claudehub.BuildFailed {
			b.Kept = o.Kept
		}
		return b
	}
	if slices.Index(buildOrder, o.State) < slices.Index(buildOrder, b.State) {
		return b
	}
	b.State, b.Steps = o.State, o.Steps
	if b.State == claudehub.BuildFailed {
		b.Failure, b.Line, b.Kept = o.Failure, o.Line, o.Kept
	}
	if b.State.Final() {
		b.Cancelling = false
	}
	return b
}

// buildIsNews tells whether a Build is worth storing and showing again: anything but the progress of a step changed, or
// that moved visibly.
func buildIsNews(old, now store.Build) bool {
	if len(old.Steps) == len(now.Steps) {
		now.Steps = slices.Clone(now.Steps)
		for i := range now.Steps {
			if math.Abs(now.Steps[i].Progress-old.Steps[i].Progress) < 0.01 {
				now.Steps[i].Progress = old.Steps[i].Progress
			}
		}
	}
	return !equal(old, now)
}

// tidyBuild bounds what a Runner says, and gives times the form that they have when they come from the database.
func tidyBuild(o wire.ObservedBuild, now time.Time) wire.ObservedBuild {
	steps := make([]claudehub.BuildStep, 0, min(len(o.Steps), maxSteps))
	for _, s := range o.Steps[:min(len(o.Steps), maxSteps)] {
		if !slices.Contains(stepStates, s.State) {
			s.State = claudehub.StepWaiting
		}
		s.Name, s.Detail, s.Progress = clip(s.Name, maxLine), clip(s.Detail, maxLine), tidyProgress(s.Progress)
		s.Started, s.Ended, s.LogFrom = store.Round(s.Started), store.Round(s.Ended), bounded(s.LogFrom, maxLog)
		steps = append(steps, s)
	}
	o.Steps, o.Failure = steps, tidyFailure(o.Failure)
	o.Line = int(bounded(int64(o.Line), maxBuildLine))
	o.Kept = store.Round(o.Kept)
	if latest := now.Add(2 * claudehub.KeepFailed); o.Kept.After(latest) {
		o.Kept = store.Round(latest)
	}
	return o
}

// bounded: a number that a Runner cannot mean is 0.
func bounded(n, most int64) int64 {
	if n < 0 || n > most {
		return 0
	}
	return n
}
