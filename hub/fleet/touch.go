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
	for _, r := range runners {
		if _, err := q.LockRunner(ctx, r.ID); err != nil {
			return touched{}, err
		}
	}
	places, err := q.SessionPlaces(ctx, p)
	return touched{places: places}, err
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
		if !slices.Contains(t.runners, s.Runner) {
			t.runners = append(t.runners, s.Runner)
		}
	}
	return nil
}

func (f *Fleet) announceTouched(t touched) {
	for _, r := range t.runners {
		f.nudge(r)
	}
}
