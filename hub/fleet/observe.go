package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// machineEvery is the age at which numbers of a machine are stored although they have hardly moved.
const machineEvery = time.Minute

// Bounds, in bytes, of texts that a Runner sends and pages show.
const (
	maxLine   = 1 << 10
	maxDetail = 64 << 10
)

var phases = []claudehub.Phase{claudehub.PhaseNew, claudehub.PhasePreparing, claudehub.PhaseStarting, claudehub.PhaseAwake,
	claudehub.PhaseStopping, claudehub.PhaseAsleep, claudehub.PhaseFailed, claudehub.PhaseArchived, claudehub.PhaseDeleted}

// ObserveStatus stores what a Runner observes, and tells who watches, as far as it is news. A status without news
// costs one read, and one for each thing in it.
func (f *Fleet) ObserveStatus(ctx context.Context, id claudehub.RunnerID, s wire.Status) (wire.StatusReply, error) {
	reply := wire.StatusReply{Gone: []claudehub.SessionID{}, GoneBuilds: []claudehub.BuildID{}}
	r, err := f.st.Read().Runner(ctx, id)
	if err != nil {
		return reply, absent(err, errNoRunner)
	}
	n := statusNews{runner: r, machine: tidyMachine(s.Machine)}
	n.machine.Reported = f.now()
	n.machineNews = machineNews(r.Machine, n.machine)
	if err := f.lookAtSessions(ctx, &n, s.Sessions); err != nil {
		return reply, err
	}
	if n.builds, err = f.lookAtBuilds(ctx, r, s.Builds); err != nil {
		return reply, err
	}
	if n.machineNews || len(n.sessions) > 0 || len(n.builds.seen) > 0 {
		if err := f.storeStatus(ctx, &n); err != nil {
			return reply, err
		}
	}
	reply.Gone = append(reply.Gone, n.gone...)
	reply.GoneBuilds = append(reply.GoneBuilds, n.builds.gone...)
	return reply, nil
}

// statusNews is what of a status is worth storing.
type statusNews struct {
	runner      store.Runner
	machine     claudehub.Machine
	machineNews bool
	sessions    []observation
	gone        []claudehub.SessionID
	builds      builtNews
}

type observation struct {
	session claudehub.Session
	seen    claudehub.Observed
	deleted bool
}

func (f *Fleet) lookAtSessions(ctx context.Context, n *statusNews, all []wire.ObservedSession) error {
	id := n.runner.ID
	for _, o := range all {
		session, err := f.st.Read().Session(ctx, o.ID)
		if err == nil {
			err = runs(id, session)
		}
		deleted := o.Observed.Phase == claudehub.PhaseDeleted
		switch {
		case claudehub.CodeOf(err) == claudehub.NotFound:
			if !deleted {
				f.log.Warn("a Runner reports a Session that it does not have", "runner", id, "session", clip(string(o.ID), maxLine))
			}
			n.gone = append(n.gone, o.ID)
		case err != nil:
			return err
		case !slices.Contains(phases, o.Observed.Phase):
			f.log.Warn("a Runner reports a phase that this Hub does not know", "runner", id, "session", o.ID, "phase", clip(string(o.Observed.Phase), maxLine))
		case deleted && session.Desired != claudehub.WantDeleted:
			f.log.Error("a Runner says that it deleted a Session that nobody wanted deleted", "runner", id, "session", o.ID)
		default:
			seen := tidyObserved(o.Observed)
			if deleted || observedNews(session.Observed, seen, n.machine.Reported.Sub(session.Updated)) {
				n.sessions = append(n.sessions, observation{session.Session, seen, deleted})
			}
		}
	}
	return nil
}

func (f *Fleet) storeStatus(ctx context.Context, n *statusNews) error {
	now := f.now()
	var built []store.Build
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if _, err := q.LockRunner(ctx, n.runner.ID); err != nil {
			return err
		}
		if n.machineNews {
			if err := q.SetMachine(ctx, n.runner.ID, n.machine); err != nil {
				return err
			}
		}
		for _, o := range n.sessions {
			if err := storeObserved(ctx, q, o, now); err != nil {
				return err
			}
		}
		built, err = f.storeBuilds(ctx, q, n.runner, &n.builds)
		return err
	})
	if err != nil {
		return err
	}
	if n.machineNews {
		f.runnerChanged(n.runner.Runner)
	}
	for _, o := range n.sessions {
		f.sessionChanged(o.session)
		if o.deleted {
			n.gone = append(n.gone, o.session.ID)
		}
	}
	for _, b := range built {
		f.buildChanged(n.runner.Owner, b.Build)
	}
	if len(built) > 0 {
		f.nudge(n.runner.ID)
	}
	return nil
}

// storeObserved: of a Session that its Runner has deleted the row stays for a while, for those who watch; nothing finds
// it any more.
func storeObserved(ctx context.Context, q store.Q, o observation, now time.Time) error {
	if err := q.SetObserved(ctx, o.session.ID, o.seen, now); err != nil || !o.deleted {
		return err
	}
	return q.SetDeleted(ctx, o.session.ID, now)
}

// machineNews tells whether a machine is worth storing and showing again: anything but its numbers changed, or they
// moved visibly, or what is shown is old.
func machineNews(old, now claudehub.Machine) bool {
	if now.Reported.Sub(old.Reported) >= machineEvery || now.Reported.Before(old.Reported) ||
		math.Abs(now.Load-old.Load) > max(0.5, 0.2*old.Load) ||
		moved(old.MemoryFree, now.MemoryFree, now.MemoryTotal) || moved(old.DiskFree, now.DiskFree, now.DiskTotal) ||
		moved(old.SessionsMemory, now.SessionsMemory, now.MemoryTotal) || storageMoved(old, now) {
		return true
	}
	for _, m := range []*claudehub.Machine{&old, &now} {
		m.Load, m.MemoryFree, m.DiskFree, m.SessionsMemory, m.Reported = 0, 0, 0, 0, time.Time{}
		m.Storage = claudehub.Storage{Reclaimed: m.Storage.Reclaimed}
	}
	return !equal(old, now)
}

// storageMoved: the sums by more than a hundredth of the disk, or the things that are listed are others.
func storageMoved(old, now claudehub.Machine) bool {
	a, b := old.Storage, now.Storage
	if len(a.Items) != len(b.Items) {
		return true
	}
	for i := range a.Items {
		if a.Items[i].Kind != b.Items[i].Kind || a.Items[i].Name != b.Items[i].Name || a.Items[i].Sessions != b.Items[i].Sessions {
			return true
		}
	}
	return moved(a.Sessions, b.Sessions, now.DiskTotal/2) || moved(a.Archived, b.Archived, now.DiskTotal/2) ||
		moved(a.Images, b.Images, now.DiskTotal/2) || moved(a.Reclaimable, b.Reclaimable, now.DiskTotal/2)
}

// moved: by more than a fiftieth of the whole.
func moved(old, now, whole int64) bool {
	d := old - now
	return max(d, -d) > whole/50
}

// equal compares as the database and the pages see it: in JSON.
func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
