package runner

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// deleteLimit bounds the removing of a Session's files: a large workspace on a slow disk.
const deleteLimit = 30 * time.Minute

// beDeleted removes everything of a Session that is on this machine, and tells what that gave back. Its record goes when
// the Hub has heard of it (see Runner.gone). Whatever was cut off is begun again.
func (s *session) beDeleted(ctx context.Context, d wire.DesiredSession) (settled bool) {
	if s.saw().Phase == claudehub.PhaseDeleted {
		if s.saw().Generation != d.Generation {
			s.see(ctx, func(o *claudehub.Observed) { o.Generation = d.Generation })
		}
		return true
	}
	defer s.on.room.leave(s.id)
	freed := int64(0)
	err := s.step(ctx, claudehub.PhaseStopping, stepDelete, deleteLimit, func(ctx context.Context, _ func(string, float64)) error {
		var err error
		freed, err = s.removeAll(ctx, d)
		return err
	})
	switch {
	case err == nil:
		s.see(ctx, func(o *claudehub.Observed) {
			*o = claudehub.Observed{
				Phase: claudehub.PhaseDeleted, Generation: d.Generation, Since: o.Since,
				SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now()}, Figures: claudehub.Figures{Freed: freed},
			}
		})
		return true
	case ctx.Err() != nil:
		return false
	}
	s.log.Warn("Session not deleted", "error", err)
	s.see(ctx, func(o *claudehub.Observed) {
		f := failureOf(err, o.Step)
		*o = atRest(*o, claudehub.PhaseFailed, d.Generation)
		o.Failure = f
	})
	return true
}

func (s *session) removeAll(ctx context.Context, d wire.DesiredSession) (freed int64, err error) {
	if isLook(d) {
		if err := s.on.releaseKept(ctx, d.Build); err != nil {
			return 0, err
		}
	} else {
		if freed, err = s.removeSandbox(ctx); err != nil {
			return 0, err
		}
	}
	s.holdVariables(nil)
	files, err := removeTree(ctx, s.dir)
	return freed + files, err
}

// removeSandbox removes it and tells what its own system took.
func (s *session) removeSandbox(ctx context.Context) (int64, error) {
	system := int64(0)
	if st, err := s.on.cfg.Backend.Stats(ctx, s.box()); err == nil { // there may be none
		system = st.DiskBytes
	}
	if err := s.on.cfg.Backend.Stop(ctx, s.box(), 0); err != nil {
		return 0, err
	}
	return system, s.on.cfg.Backend.Remove(ctx, s.box())
}

// strays are the folders of Sessions that neither the Runner nor, as far as it was told, the Hub knows. Somebody's work
// may be in them: they are shown, and removed when a person asks.
func (r *Runner) strays() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told {
		return nil // the Hub may still name them
	}
	var found []string
	entries, _ := os.ReadDir(sessionsDir(r.cfg.Dir)) // none yet is fine
	for _, e := range entries {
		if s := r.sessions[claudehub.SessionID(e.Name())]; s == nil || s.stray.Load() {
			found = append(found, e.Name())
		}
	}
	return found
}

func sessionsDir(dir string) string { return filepath.Join(dir, "sessions") }

// removeStray removes a Session that the Hub does not know: its Sandbox, its folder and its record.
func (r *Runner) removeStray(ctx context.Context, name string) (freed int64, err error) {
	id := claudehub.SessionID(name)
	if _, err := claudehub.ParseSessionID(name); err != nil {
		return removeTree(ctx, filepath.Join(sessionsDir(r.cfg.Dir), filepath.Base(name)))
	}
	if s := r.find(id); s != nil {
		freed, err = s.removeSandbox(ctx)
	}
	if err != nil {
		return 0, err
	}
	files, err := removeTree(ctx, filepath.Join(sessionsDir(r.cfg.Dir), name))
	if err == nil {
		err = r.forget(ctx, id)
	}
	return freed + files, err
}

// forget takes a Session out of the Runner's memory and ends its loops. Nothing of it is on the disk any more.
func (r *Runner) forget(ctx context.Context, id claudehub.SessionID) error {
	if err := r.state.ForgetSession(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	s := r.sessions[id]
	delete(r.sessions, id)
	r.mu.Unlock()
	if s != nil {
		s.retire()
	}
	return nil
}
