package fleet

import (
	"context"
	"encoding/json"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// leaseSilence is how long a lease holds without a sign of life from its stream. The Hub's own writes of it are a
// quarter of that apart.
const (
	leaseSilence = wire.StreamDead
	sweepEvery   = leaseSilence / 4
	maxInstance  = 100
	maxHost      = 200
)

// streamKey names a Runner process that has a stream.
type streamKey struct {
	runner   claudehub.RunnerID
	instance string
}

// AcquireLease makes a process the Runner, and its link up. While another process is the Runner, takeOver is needed,
// and that process is told. A process whose stream died unnoticed acquires again for its next one; its caller ends the
// older stream before, and releases once, for the last.
func (f *Fleet) AcquireLease(ctx context.Context, id claudehub.RunnerID, instance, host string, takeOver bool) error {
	if instance == "" || len(instance) > maxInstance || clip(instance, maxInstance) != instance {
		return claudehub.Errorf(claudehub.Invalid, "A Runner has to say which process it is, in the header %s.", wire.InstanceHeader)
	}
	host = clip(host, maxHost)
	if host == "" {
		host = "a machine that did not say its name"
	}
	old, r, err := f.takeLease(ctx, id, instance, host, takeOver)
	if err != nil {
		return err
	}
	f.sign(streamKey{id, instance}, true)
	if old != "" {
		f.log.Info("another process is the Runner now", "runner", id, "host", host)
		f.tell(id, kindSuperseded, supersededMessage{Instance: old, By: host})
	}
	f.runnerChanged(r)
	return nil
}

// takeLease returns the instance that lost the lease by it, or "".
func (f *Fleet) takeLease(ctx context.Context, id claudehub.RunnerID, instance, host string, takeOver bool) (old string, out claudehub.Runner, err error) {
	err = f.st.Write(ctx, func(q store.Q) error {
		r, err := q.LockRunner(ctx, id)
		if err != nil {
			return absent(err, errNoRunner)
		}
		if err := f.mayLink(ctx, q, r); err != nil {
			return err
		}
		now, live := f.now(), f.live(id, r.Link, r.Lease)
		if r.Lease.Instance != instance {
			if live && !takeOver {
				return held(r.Lease)
			}
			old = r.Lease.Instance // also when it was silent: it may come back
		}
		if r.Lease.Instance != instance || !live {
			r.Lease.Since = now
		}
		if !live {
			r.Link = claudehub.Link{State: claudehub.LinkUp, Since: now}
		}
		r.Lease.Instance, r.Lease.Host, r.Lease.Hub, r.Lease.Renewed = instance, host, f.hub, now
		out = r.Runner
		return q.SetLink(ctx, id, r.Link, r.Lease)
	})
	return old, out, err
}

// mayLink refuses a Runner whose token was good when it asked, and is good no more: nobody would end its stream.
func (f *Fleet) mayLink(ctx context.Context, q store.Q, r store.Runner) error {
	owner, err := q.Person(ctx, r.Owner)
	if err != nil {
		return err
	}
	if !r.Revoked.IsZero() || f.mayEnter(owner) != nil {
		return errBadRunnerToken
	}
	return nil
}

func held(l store.Lease) error {
	return claudehub.Errorf(claudehub.Conflict, "This Runner runs already, on %s, since %s. "+
		"Stop it there, or start this one with --take-over.", l.Host, l.Since.Format("2 January 15:04 MST"))
}

// live tells whether a lease's stream is connected, as far as this Hub can know.
func (f *Fleet) live(id claudehub.RunnerID, link claudehub.Link, l store.Lease) bool {
	return link.State == claudehub.LinkUp && f.now().Sub(f.lastSign(id, l)) < leaseSilence
}

// lastSign is the last sign of life of a lease's stream.
func (f *Fleet) lastSign(id claudehub.RunnerID, l store.Lease) time.Time {
	if l.Hub == f.hub {
		f.mu.Lock()
		defer f.mu.Unlock()
		if sign, ok := f.streams[streamKey{id, l.Instance}]; ok {
			return sign
		}
	}
	return l.Renewed
}

// RenewLease is a sign of life: the Hub could write to the Runner's stream. Conflict says that another process has the
// lease now, and that this stream must end.
func (f *Fleet) RenewLease(ctx context.Context, id claudehub.RunnerID, instance string) error {
	r, err := f.holder(ctx, id, instance)
	if err != nil {
		return err
	}
	f.sign(streamKey{id, instance}, false)
	if r.Link.State == claudehub.LinkUp && r.Lease.Hub == f.hub {
		return nil
	}
	// It was silent for so long that its link was called down, and is back: a machine that slept, say.
	_, back, err := f.takeLease(ctx, id, instance, r.Lease.Host, false)
	if err == nil {
		f.runnerChanged(back)
	}
	return err
}

// CheckLease refuses a process that is not the Runner, or no longer.
func (f *Fleet) CheckLease(ctx context.Context, id claudehub.RunnerID, instance string) error {
	_, err := f.holder(ctx, id, instance)
	return err
}

// holder: the last holder stays it while its stream is down, until another process takes the lease. So what it has to
// report does not wait for the stream.
func (f *Fleet) holder(ctx context.Context, id claudehub.RunnerID, instance string) (store.Runner, error) {
	r, err := f.st.Read().Runner(ctx, id)
	switch {
	case err != nil:
		return r, absent(err, errNoRunner)
	case r.Lease.Instance == "" || instance == "":
		return r, claudehub.Errorf(claudehub.Conflict, "This Runner has not opened its stream yet.")
	case r.Lease.Instance != instance:
		return r, claudehub.Errorf(claudehub.Conflict, "Another process, on %s, is this Runner since %s.",
			r.Lease.Host, r.Lease.Since.Format("2 January 15:04 MST"))
	}
	return r, nil
}

// ReleaseLease says that a process's stream ended. The link is down, unless the process has one at another Hub.
func (f *Fleet) ReleaseLease(ctx context.Context, id claudehub.RunnerID, instance string) error {
	f.mu.Lock()
	delete(f.streams, streamKey{id, instance})
	f.mu.Unlock()
	return f.linkDown(ctx, id, func(r store.Runner) (time.Time, bool) {
		return f.now(), r.Lease.Instance == instance && r.Lease.Hub == f.hub
	})
}

// linkDown writes that a link is down, since when decide says and if it still says so under the lock.
func (f *Fleet) linkDown(ctx context.Context, id claudehub.RunnerID, decide func(store.Runner) (since time.Time, down bool)) error {
	var changed *claudehub.Runner
	err := f.st.Write(ctx, func(q store.Q) error {
		r, err := q.LockRunner(ctx, id)
		if err != nil {
			return absent(err, errNoRunner)
		}
		since, down := decide(r)
		if !down || r.Link.State != claudehub.LinkUp {
			return nil
		}
		r.Link = claudehub.Link{State: claudehub.LinkDown, Since: since}
		changed = &r.Runner
		return q.SetLink(ctx, id, r.Link, r.Lease)
	})
	if err == nil && changed != nil {
		f.runnerChanged(*changed)
	}
	return err
}

// sign notes a sign of life of a stream; of one that is known already, unless it is new.
func (f *Fleet) sign(k streamKey, fresh bool) {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.streams[k]; known || fresh {
		f.streams[k] = now
	}
}

// kindSuperseded is a bus message for all streams of a Runner; only one instance takes it to its stream.
const kindSuperseded = wire.EventSuperseded

type supersededMessage struct {
	Instance string `json:"instance"`
	By       string `json:"by"`
}

// superseded turns the bus's message into the stream's, for the instance that it is for.
func superseded(data []byte, instance string) ([]byte, bool) {
	var m supersededMessage
	if err := json.Unmarshal(data, &m); err != nil || m.Instance != instance {
		return nil, false
	}
	out, err := json.Marshal(wire.Superseded{By: m.By})
	return out, err == nil
}
