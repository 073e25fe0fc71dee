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
	claudehub.PhaseStopping, claudehub.PhaseAsleep, claudehub.PhaseFailed, claudehub.PhaseArchived}

// ObserveStatus stores what a Runner observes, and tells who watches, as far as it is news. A status without news
// costs one read.
func (f *Fleet) ObserveStatus(ctx context.Context, id claudehub.RunnerID, s wire.Status) (wire.StatusReply, error) {
	reply := wire.StatusReply{Gone: []claudehub.SessionID{}}
	r, err := f.st.Read().Runner(ctx, id)
	if err != nil {
		return reply, absent(err, errNoRunner)
	}
	now := f.now()
	m := tidyMachine(s.Machine)
	m.Reported = now
	news := machineNews(r.Machine, m)
	var found []observation
	for _, o := range s.Sessions {
		session, err := f.st.Read().Session(ctx, o.ID)
		if err == nil {
			err = runs(id, session)
		}
		switch {
		case claudehub.CodeOf(err) == claudehub.NotFound:
			f.log.Warn("a Runner reports a Session that it does not have", "runner", id, "session", o.ID)
			reply.Gone = append(reply.Gone, o.ID)
		case err != nil:
			return reply, err
		case !slices.Contains(phases, o.Observed.Phase):
			f.log.Warn("a Runner reports a phase that this Hub does not know", "runner", id, "session", o.ID, "phase", o.Observed.Phase)
		default:
			if seen := tidyObserved(o.Observed); !equal(seen, session.Observed) {
				found = append(found, observation{session.Session, seen})
			}
		}
	}
	if !news && len(found) == 0 {
		return reply, nil
	}
	return reply, f.storeStatus(ctx, r, m, news, found)
}

type observation struct {
	session claudehub.Session
	seen    claudehub.Observed
}

func (f *Fleet) storeStatus(ctx context.Context, r store.Runner, m claudehub.Machine, news bool, found []observation) error {
	now := f.now()
	err := f.st.Write(ctx, func(q store.Q) error {
		if _, err := q.LockRunner(ctx, r.ID); err != nil {
			return err
		}
		if news {
			if err := q.SetMachine(ctx, r.ID, m); err != nil {
				return err
			}
		}
		for _, o := range found {
			if err := q.SetObserved(ctx, o.session.ID, o.seen, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if news {
		f.runnerChanged(r.Runner)
	}
	for _, o := range found {
		f.sessionChanged(o.session)
	}
	return nil
}

// machineNews tells whether a machine is worth storing and showing again: anything but its numbers changed, or they
// moved visibly, or what is shown is old.
func machineNews(old, now claudehub.Machine) bool {
	if now.Reported.Sub(old.Reported) >= machineEvery || now.Reported.Before(old.Reported) ||
		math.Abs(now.Load-old.Load) > max(0.5, 0.2*old.Load) ||
		moved(old.MemoryFree, now.MemoryFree, now.MemoryTotal) || moved(old.DiskFree, now.DiskFree, now.DiskTotal) ||
		moved(old.SessionsMemory, now.SessionsMemory, now.MemoryTotal) {
		return true
	}
	for _, m := range []*claudehub.Machine{&old, &now} {
		m.Load, m.MemoryFree, m.DiskFree, m.SessionsMemory, m.Reported = 0, 0, 0, 0, time.Time{}
	}
	return !equal(old, now)
}

// moved: by more than a fiftieth of the whole.
func moved(old, now, whole int64) bool {
	d := old - now
	return max(d, -d) > whole/50
}

// tidyMachine makes empty lists out of none, for JSON, and bounds texts.
func tidyMachine(m claudehub.Machine) claudehub.Machine {
	for _, s := range []*string{&m.Hostname, &m.OS, &m.Arch, &m.Version, &m.Claude, &m.Backend} {
		*s = clip(*s, maxLine)
	}
	m.Doctor = append([]claudehub.Finding{}, m.Doctor[:min(len(m.Doctor), 100)]...)
	for i := range m.Doctor {
		d := &m.Doctor[i]
		d.Name, d.Detail, d.Fix = clip(d.Name, maxLine), clip(d.Detail, maxDetail), clip(d.Fix, maxDetail)
	}
	m.Unowned = append([]string{}, m.Unowned[:min(len(m.Unowned), 1000)]...)
	for i, s := range m.Unowned {
		m.Unowned[i] = clip(s, maxLine)
	}
	return m
}

// tidyObserved bounds texts, and gives times the form that they have when they come from the database.
func tidyObserved(o claudehub.Observed) claudehub.Observed {
	o.Doing, o.Notice = clip(o.Doing, maxLine), clip(o.Notice, maxDetail)
	o.Since, o.SandboxLink.Since = store.Round(o.Since), store.Round(o.SandboxLink.Since)
	if o.Step != nil {
		s := *o.Step
		s.Name, s.Detail = clip(s.Name, maxLine), clip(s.Detail, maxDetail)
		s.Since, s.Deadline = store.Round(s.Since), store.Round(s.Deadline)
		if math.IsNaN(s.Progress) || s.Progress < 0 || s.Progress > 1 {
			s.Progress = -1
		}
		o.Step = &s
	}
	if o.Failure != nil {
		e := *o.Failure
		e.Step, e.Reason, e.Fix, e.Detail = clip(e.Step, maxLine), clip(e.Reason, maxDetail), clip(e.Fix, maxDetail), clip(e.Detail, maxDetail)
		o.Failure = &e
	}
	return o
}

// equal compares as the database and the pages see it: in JSON.
func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
