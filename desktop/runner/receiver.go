package runner

import (
	"context"
	"slices"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The receiver of the Hub's stream.

func (r *Runner) linked(up bool) {
	r.log.Info("link to the Hub", "up", up)
	r.parts.linked.Store(up)
	if up {
		for _, s := range r.all() {
			r.status.changed(s.id)
			s.changed.set() // one that failed for want of the Hub
		}
		r.builds.relinked()
		r.status.wake.set()
		r.status.pause.hurry()
		r.outbox.wake.set()
		r.outbox.pause.hurry()
		return
	}
	for _, s := range r.all() {
		s.screen.linkLost()
	}
}

func (r *Runner) unopposed() { r.clear.Do(func() { close(r.cleared) }) }

func (r *Runner) snapshot(ctx context.Context, m wire.Snapshot) error {
	if err := r.take(ctx, m.Seq, m.Sessions, &m.Machine); err != nil {
		return err
	}
	r.mu.Lock()
	r.told = true
	r.mu.Unlock()
	r.takeMachine(m.Machine)
	named := map[claudehub.SessionID]bool{}
	for _, d := range m.Sessions {
		named[d.ID] = true
	}
	for _, s := range r.all() {
		if !named[s.id] {
			r.gone(ctx, s.id)
		}
	}
	return nil
}

func (r *Runner) desired(ctx context.Context, d wire.DesiredSession) error {
	return r.take(ctx, d.Seq, []wire.DesiredSession{d}, nil)
}

// machineDesired takes what is desired of the machine as a whole.
func (r *Runner) machineDesired(ctx context.Context, m wire.DesiredMachine) error {
	err := r.state.SaveMachine(ctx, m)
	r.rememberTrouble(err)
	if err == nil {
		r.takeMachine(m)
	}
	return err
}

func (r *Runner) takeMachine(m wire.DesiredMachine) {
	m.Builds = slices.DeleteFunc(m.Builds, func(d wire.DesiredBuild) bool {
		_, err := claudehub.ParseBuildID(string(d.ID))
		if err != nil {
			r.log.Error("the Hub named a build that cannot be", "id", string(d.ID))
		}
		return err != nil
	})
	r.builds.want(m.Builds)
	r.mu.Lock()
	r.reclaim = m
	r.mu.Unlock()
	r.storage.set()
}

// take stores desired states, then acts on them.
func (r *Runner) take(ctx context.Context, seq int64, sessions []wire.DesiredSession, machine *wire.DesiredMachine) error {
	valid := sessions[:0:0]
	for _, d := range sessions {
		if _, err := claudehub.ParseSessionID(string(d.ID)); err != nil {
			r.log.Error("the Hub named a Session that cannot be", "id", string(d.ID))
			continue
		}
		if first, ok := r.creatorOf(d.ID, valid); ok && first != d.Creator {
			r.refused.note(d.ID, drivingCreator)
			r.log.Error("the Hub names another Creator than before; nothing that it says of this Session so is taken", "session", d.ID, "creator", first)
			continue
		}
		if d.By != "" && !claudehub.MayDrive(d.By, d.Creator) {
			r.refused.note(d.ID, drivingDesired)
			r.log.Error("the Hub passes on what another than the Creator desires of a Session; it is not taken", "session", d.ID)
			continue
		}
		valid = append(valid, d)
	}
	err := r.state.SaveDesired(ctx, seq, valid, machine)
	r.rememberTrouble(err)
	if err != nil {
		return err
	}
	for _, d := range valid {
		s, fresh := r.open(Record{Desired: d})
		if fresh {
			select {
			case r.arrivals <- s:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.stray.Store(false)
		s.want(d)
		r.status.changed(s.id)
	}
	return nil
}

// creatorOf is who the Hub named first: before, or earlier in the same message.
func (r *Runner) creatorOf(id claudehub.SessionID, earlier []wire.DesiredSession) (claudehub.PersonID, bool) {
	if s := r.find(id); s != nil {
		return s.creator, true
	}
	for _, d := range earlier {
		if d.ID == id {
			return d.Creator, true
		}
	}
	return "", false
}

// gone takes a Session that the Hub has no row for out of work. One that was deleted is forgotten: that was the last word
// on it. The files of any other stay.
func (r *Runner) gone(ctx context.Context, id claudehub.SessionID) {
	s := r.find(id)
	if s == nil {
		return
	}
	if s.saw().Phase == claudehub.PhaseDeleted {
		if err := r.forget(ctx, id); err != nil {
			r.log.Error("a deleted Session is not forgotten", "session", id, "error", err)
		}
		r.storage.set()
		return
	}
	s.stray.Store(true)
	if s.wanted().Desired != claudehub.WantAwake {
		return
	}
	r.log.Warn("the Hub does not know this Session; it is stopped and its files are kept", "session", id, "dir", s.dir)
	d := s.wanted()
	d.Desired = claudehub.WantAsleep
	s.want(d)
	if err := r.state.saveWish(ctx, d); err != nil {
		r.log.Error("not noted that a Session is gone", "session", id, "error", err)
	}
}

func (r *Runner) input(in wire.Input) {
	if s := r.find(in.Session); s != nil {
		s.inputs.add(in)
	}
}

func (r *Runner) resize(m wire.Resize) {
	if s := r.find(m.Session); s != nil {
		s.resize(m)
	}
}

func (r *Runner) attach(m wire.Attach) {
	if s := r.find(m.Session); s != nil {
		s.attach(m)
	}
}

func (r *Runner) detach(m wire.Detach) {
	if s := r.find(m.Session); s != nil {
		s.screen.detach(m.Feed)
	}
}
