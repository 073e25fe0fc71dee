package fleet

import (
	"context"
	"slices"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// touched are the Sessions of one person whose Runners have to hear of them again, because something changed that they
// share: a Variable, an Environment's name.
type touched struct {
	places  []store.SessionPlace
	all     []claudehub.RunnerID // that the person has
	runners []claudehub.RunnerID // that have news
}

// beginTouch keeps everybody else from the person's Sessions, until the transaction ends. Runners are locked before
// anything else, and in one order, here as in a decision: so no two writers wait for each other.
func (f *Fleet) beginTouch(ctx context.Context, q store.Q, p claudehub.PersonID) (touched, error) {
	runners, err := q.Runners(ctx, p)
	if err != nil {
		return touched{}, err
	}
	slices.SortFunc(runners, func(a, b store.Runner) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	var t touched
	for _, r := range runners {
		t.all = append(t.all, r.ID)
		if _, err := q.LockRunner(ctx, r.ID); err != nil {
			return touched{}, err
		}
	}
	t.places, err = q.SessionPlaces(ctx, p)
	return t, err
}

// machines gives each Runner that has an open build of an Environment the next number for its machine.
func (t *touched) machines(ctx context.Context, q store.Q, id claudehub.EnvironmentID) error {
	for _, r := range t.all {
		open, err := q.OpenBuilds(ctx, r)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(open, func(b store.Build) bool { return b.Environment == id }) {
			continue
		}
		if _, err := q.NextMachineSeq(ctx, r); err != nil {
			return err
		}
		t.news(r)
	}
	return nil
}

func (t *touched) news(r claudehub.RunnerID) {
	if !slices.Contains(t.runners, r) {
		t.runners = append(t.runners, r)
	}
}

// sessions gives each Session that is concerned the next number of its Runner's log.
func (t *touched) sessions(ctx context.Context, q store.Q, concerned func(store.SessionPlace) bool) error {
	for _, s := range t.places {
		if !concerned(s) {
			continue
		}
		seq, err := q.NextSeq(ctx, s.Runner)
		if err != nil {
			return err
		}
		if err := q.SetSeq(ctx, s.ID, seq); err != nil {
			return err
		}
		t.news(s.Runner)
	}
	return nil
}

func (f *Fleet) announceTouched(t touched) {
	for _, r := range t.runners {
		f.nudge(r)
	}
}
