package fleet

import (
	"context"
	"slices"
	"strings"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// maxReclaim is beyond any number that is counted to; a Runner that reports a higher one is not believed.
const maxReclaim = 1 << 50

// storageKinds are what a Runner keeps, and what a Reclaim may name.
var storageKinds = []string{"image", "base", "kept", "leftover", "unowned"}

// Reclaim asks a Runner to remove, of some kinds, what nothing uses. What an earlier one asked for and is not done yet
// stays asked for.
func (f *Fleet) Reclaim(ctx context.Context, p claudehub.PersonID, id claudehub.RunnerID, what []string) (claudehub.Runner, error) {
	if len(what) == 0 || len(what) > 2*len(storageKinds) {
		return claudehub.Runner{}, claudehub.Errorf(claudehub.Invalid, "Say what to remove: some of %s.", strings.Join(storageKinds, ", "))
	}
	for _, kind := range what {
		if !slices.Contains(storageKinds, kind) {
			return claudehub.Runner{}, claudehub.Errorf(claudehub.Invalid, "There is no kind of storage called %q. Choose some of %s.",
				clip(kind, 60), strings.Join(storageKinds, ", "))
		}
	}
	var r store.Runner
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if r, err = lockRunner(ctx, q, p, id); err != nil {
			return err
		}
		done := r.Machine.Storage.Reclaimed.Request
		if done < r.Reclaim {
			what = slices.Concat(what, r.ReclaimWhat)
		}
		what = slices.Sorted(slices.Values(what))
		r.ReclaimWhat = slices.Compact(what)
		// Above what the Runner has done, also when the database is older than that.
		r.Reclaim = max(r.Reclaim, done) + 1
		if err := q.SetReclaim(ctx, r); err != nil {
			return err
		}
		if err := f.note(asActor(ctx, p), q, "runner.reclaim", string(id), map[string]string{"what": strings.Join(r.ReclaimWhat, ", ")}); err != nil {
			return err
		}
		_, err = q.NextMachineSeq(ctx, id)
		return err
	})
	if err != nil {
		return claudehub.Runner{}, err
	}
	f.runnerChanged(r.Runner)
	f.nudge(id)
	return r.Runner, nil
}

// lockRunner finds a Runner of a person's and keeps other writers from it and its Sessions until the transaction ends.
func lockRunner(ctx context.Context, q store.Q, p claudehub.PersonID, id claudehub.RunnerID) (store.Runner, error) {
	r, err := q.LockRunner(ctx, id)
	if err != nil {
		return store.Runner{}, absent(err, errNoRunner)
	}
	return r, mayOwn(p, r.Runner)
}
