package fleet

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// keptVersions is how many of an Environment's versions stay although nothing runs on them.
const keptVersions = 100

// EnvironmentUpdate changes what is not nil. Base is the version that the person saw.
type EnvironmentUpdate struct {
	Name   *string
	Recipe *claudehub.Recipe
	Base   int
}

// Environments lists a person's Environments by name, archived ones or the others.
func (f *Fleet) Environments(ctx context.Context, p claudehub.PersonID, archived bool) ([]claudehub.Environment, error) {
	return f.st.Read().Environments(ctx, p, archived)
}

// Environment finds an Environment that a person may use.
func (f *Fleet) Environment(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	return ownEnvironment(ctx, f.st.Read(), p, id)
}

func ownEnvironment(ctx context.Context, q store.Q, p claudehub.PersonID, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	return may(p, id, func() (claudehub.Environment, error) { return q.Environment(ctx, id) })
}

func lockEnvironment(ctx context.Context, q store.Q, p claudehub.PersonID, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	return may(p, id, func() (claudehub.Environment, error) { return q.LockEnvironment(ctx, id) })
}

func may(p claudehub.PersonID, id claudehub.EnvironmentID, find func() (claudehub.Environment, error)) (claudehub.Environment, error) {
	if !parses(claudehub.ParseEnvironmentID(string(id))) {
		return claudehub.Environment{}, errNoEnvironment
	}
	e, err := find()
	if err != nil {
		return claudehub.Environment{}, absent(err, errNoEnvironment)
	}
	if err := mayUse(p, e); err != nil {
		return claudehub.Environment{}, err
	}
	return e, nil
}

// EnvironmentVersions lists the recipes of an Environment as they were saved, the newest first.
func (f *Fleet) EnvironmentVersions(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) ([]claudehub.EnvironmentVersion, error) {
	if _, err := f.Environment(ctx, p, id); err != nil {
		return nil, err
	}
	return f.st.Read().EnvironmentVersions(ctx, id)
}

// CreateEnvironment makes an Environment with its first version.
func (f *Fleet) CreateEnvironment(ctx context.Context, p claudehub.PersonID, name string, recipe claudehub.Recipe) (claudehub.Environment, error) {
	name, recipe = strings.TrimSpace(name), tidyRecipe(recipe)
	if err := claudehub.ValidEnvironmentName(name); err != nil {
		return claudehub.Environment{}, err
	}
	if err := recipe.Check(); err != nil {
		return claudehub.Environment{}, err
	}
	now := f.now()
	e := claudehub.Environment{ID: claudehub.NewEnvironmentID(), Owner: p, Name: name, Version: 1, Recipe: recipe, Created: now, Updated: now}
	err := f.st.Write(ctx, func(q store.Q) error {
		if err := roomForEnvironment(ctx, q, p); err != nil {
			return err
		}
		if err := q.AddEnvironment(ctx, e); err != nil {
			return err
		}
		return f.note(asActor(ctx, p), q, "environment.create", string(e.ID), map[string]string{"name": e.Name})
	})
	if err != nil {
		return claudehub.Environment{}, err
	}
	f.environmentChanged(e)
	return e, nil
}

// roomForEnvironment counts while nobody else does.
func roomForEnvironment(ctx context.Context, q store.Q, p claudehub.PersonID) error {
	if err := q.LockPerson(ctx, p); err != nil {
		return err
	}
	n, err := q.CountEnvironments(ctx, p)
	if err == nil && n >= claudehub.MaxEnvironments {
		err = claudehub.Errorf(claudehub.TooMany, "You have %d Environments, which is the most. Archive one that you do not need.", n)
	}
	return err
}

// UpdateEnvironment changes an Environment. A changed recipe makes a new version; Sessions keep the one they have.
func (f *Fleet) UpdateEnvironment(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID, u EnvironmentUpdate) (claudehub.Environment, error) {
	return f.changeEnvironment(ctx, p, id, "environment.update", func(q store.Q, e *claudehub.Environment) error {
		switch {
		case e.Archived:
			return errArchivedEnvironment
		case u.Base != e.Version:
			return claudehub.Errorf(claudehub.Conflict, "Somebody saved version %d of this Environment while you worked on version %d. "+
				"Load it anew, look at what changed, and save yours again.", e.Version, u.Base)
		}
		if u.Name != nil {
			e.Name = strings.TrimSpace(*u.Name)
		}
		if err := claudehub.ValidEnvironmentName(e.Name); err != nil {
			return err
		}
		if u.Recipe == nil {
			return nil
		}
		recipe := tidyRecipe(*u.Recipe)
		if err := recipe.Check(); err != nil || reflect.DeepEqual(recipe, e.Recipe) {
			return err
		}
		e.Recipe = recipe
		e.Version++
		return f.saveVersion(ctx, q, p, *e)
	})
}

func (f *Fleet) saveVersion(ctx context.Context, q store.Q, p claudehub.PersonID, e claudehub.Environment) error {
	v := claudehub.EnvironmentVersion{Version: e.Version, Recipe: e.Recipe, By: p, Created: f.now()}
	if err := q.AddEnvironmentVersion(ctx, e.ID, v); err != nil {
		return err
	}
	return q.PruneEnvironmentVersions(ctx, e.ID, e.Version-keptVersions)
}

// ArchiveEnvironment puts an Environment away: it is not offered any more. Sessions that have it keep their version and
// wake as before.
func (f *Fleet) ArchiveEnvironment(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	return f.changeEnvironment(ctx, p, id, "environment.archive", func(_ store.Q, e *claudehub.Environment) error {
		e.Archived = true
		return nil
	})
}

// UnarchiveEnvironment takes an Environment back.
func (f *Fleet) UnarchiveEnvironment(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	return f.changeEnvironment(ctx, p, id, "environment.unarchive", func(q store.Q, e *claudehub.Environment) error {
		if !e.Archived {
			return nil
		}
		e.Archived = false
		return roomForEnvironment(ctx, q, p)
	})
}

// changeEnvironment stores what fn makes of an Environment, and tells those who have to know. Its name is told to
// Runners; its newest version is not, since a Session has its own.
func (f *Fleet) changeEnvironment(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID, action string, fn func(store.Q, *claudehub.Environment) error) (claudehub.Environment, error) {
	var was, e claudehub.Environment
	var t touched
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if t, err = f.beginTouch(ctx, q, p); err != nil {
			return err
		}
		if was, err = lockEnvironment(ctx, q, p, id); err != nil {
			return err
		}
		e = was
		if err := fn(q, &e); err != nil || reflect.DeepEqual(e, was) {
			return err
		}
		e.Updated = f.now()
		detail := map[string]string{"name": e.Name, "version": strconv.Itoa(e.Version)}
		if err := f.note(asActor(ctx, p), q, action, string(id), detail); err != nil {
			return err
		}
		if err := q.SetEnvironment(ctx, e); err != nil || e.Name == was.Name {
			return err
		}
		if err := t.machines(ctx, q, id); err != nil {
			return err
		}
		return t.sessions(ctx, q, func(s store.SessionPlace) bool { return s.Environment == id })
	})
	if err != nil {
		return claudehub.Environment{}, err
	}
	if !reflect.DeepEqual(e, was) {
		f.environmentChanged(e)
	}
	f.announceTouched(t)
	return e, nil
}

// tidyRecipe makes two recipes that say the same equal.
func tidyRecipe(r claudehub.Recipe) claudehub.Recipe {
	r.Base.Ref = strings.TrimSpace(r.Base.Ref)
	r.Setup = strings.ReplaceAll(r.Setup, "\r\n", "\n") // a browser's form; a shell would take the rest for a part of the word
	allow := make([]string, len(r.Allow))
	for i, h := range r.Allow {
		allow[i] = strings.ToLower(strings.TrimSpace(h))
	}
	r.Allow = allow
	return r
}

// environmentFor finds the version of an Environment that a Session is to run on; version 0 is the newest.
func environmentFor(ctx context.Context, q store.Q, p claudehub.PersonID, ref claudehub.EnvironmentRef) (*claudehub.EnvironmentRef, error) {
	e, err := lockEnvironment(ctx, q, p, ref.ID)
	if err != nil {
		return nil, err
	}
	if e.Archived {
		return nil, errArchivedEnvironment
	}
	version, _, err := versionOf(ctx, q, e, ref.Version)
	if err != nil {
		return nil, err
	}
	return &claudehub.EnvironmentRef{ID: e.ID, Version: version, Name: e.Name}, nil
}

func versionOf(ctx context.Context, q store.Q, e claudehub.Environment, version int) (int, claudehub.Recipe, error) {
	if version == 0 || version == e.Version {
		return e.Version, e.Recipe, nil
	}
	v, err := q.EnvironmentVersion(ctx, e.ID, version)
	if err != nil {
		return 0, claudehub.Recipe{}, absent(err, claudehub.Errorf(claudehub.NotFound,
			"%s has no version %d; the newest is %d. Old ones that nothing uses are forgotten.", e.Name, version, e.Version))
	}
	return v.Version, v.Recipe, nil
}
