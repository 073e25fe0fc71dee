package fleet

import (
	"context"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

var errLook = claudehub.Errorf(claudehub.Conflict,
	"This is a look inside a failed build: it has no Claude, and cannot sleep. Archive it when you have seen enough; its Sandbox is removed then.")

// Look opens a shell in the Sandbox that a failed Build left, as a Session of its own: the same one while it exists.
func (f *Fleet) Look(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID) (claudehub.Session, error) {
	found, err := ownBuild(ctx, f.st.Read(), p, id)
	if err != nil {
		return claudehub.Session{}, err
	}
	ctx = asActor(ctx, p)
	d := &decision{}
	var out claudehub.Session
	err = f.st.Write(ctx, func(q store.Q) error {
		*d = decision{q: q, now: f.now()}
		if _, err := lockRunner(ctx, q, p, found.Runner); err != nil {
			return err
		}
		b, err := q.Build(ctx, id)
		if err != nil {
			return absent(err, errNoBuild)
		}
		d.s, err = q.LookSession(ctx, id)
		switch {
		case err == nil && !putAway(d.s.Desired):
			out, err = f.showOne(ctx, q, claudehub.AccessCreator, d.s)
			return err
		case err == nil:
			return errLookOver
		case claudehub.CodeOf(err) != claudehub.NotFound:
			return err
		}
		if err := d.look(ctx, p, b); err != nil {
			return err
		}
		d.tell("build", string(id))
		out, err = f.created(ctx, d, "session.create")
		return err
	})
	if err != nil {
		return claudehub.Session{}, err
	}
	f.announce(d)
	return out, nil
}

var errLookOver = claudehub.Errorf(claudehub.Conflict, "The Sandbox of this build is gone. Build again to look inside.")

func (d *decision) look(ctx context.Context, p claudehub.PersonID, b store.Build) error {
	switch {
	case b.State != claudehub.BuildFailed:
		return claudehub.Errorf(claudehub.Conflict, "Only a build that failed leaves a Sandbox to look into; this one is %s.", b.State)
	case b.Kept.IsZero() || !b.Kept.After(d.now):
		return errLookOver
	}
	ref, err := environmentOf(ctx, d.q, b)
	if err != nil {
		return err
	}
	if err := roomForSession(ctx, d.q, b.Runner); err != nil {
		return err
	}
	d.s = newSession(p, b.Runner, d.now)
	d.s.Title, d.s.Kind, d.s.Build, d.s.Environment = "A look inside the default recipe", claudehub.KindLook, b.ID, ref
	if ref != nil {
		d.s.Title = "A look inside " + ref.Name
	}
	return d.add(ctx)
}

// environmentOf is what a Build is of; nil for the default recipe.
func environmentOf(ctx context.Context, q store.Q, b store.Build) (*claudehub.EnvironmentRef, error) {
	if b.Environment == "" {
		return nil, nil //nolint:nilnil // no Environment is an answer
	}
	name, err := q.EnvironmentName(ctx, b.Environment)
	return &claudehub.EnvironmentRef{ID: b.Environment, Version: b.Version, Name: name}, err
}

// claudeOnly refuses what a look inside cannot do.
func (d *decision) claudeOnly() error {
	if d.s.Kind == claudehub.KindLook {
		return errLook
	}
	return nil
}

// putAway tells a Session that is archived, or on its way to being deleted.
func putAway(d claudehub.Desired) bool {
	return d == claudehub.WantArchived || d == claudehub.WantDeleted
}
