package fleet

import (
	"context"
	"strings"

	"claude-hub/internal/claudehub"
)

const (
	maxFound = 10   // people who are offered while somebody types
	maxQuery = 100  // bytes of what they type
	maxJoins = 1000 // people who came to one Session by its link
)

var (
	errLookUnshared = claudehub.Errorf(claudehub.Conflict, "A look inside a failed build cannot be shared.")
	errNotShared    = claudehub.Errorf(claudehub.NotFound, "This Session is not shared with that person.")
)

// Share lets a person watch a Session, and suggest prompts. They are named by their login.
func (f *Fleet) Share(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, login string) (claudehub.Session, error) {
	return f.asCreator(ctx, p, id, "session.share", func(d *decision) error {
		login = strings.TrimPrefix(strings.TrimSpace(login), "@")
		nobody := claudehub.Errorf(claudehub.NotFound, "Nobody on this Hub is called %q. They have to sign in once before you can share with them.", clip(login, 60))
		if login == "" || clip(login, maxQuery) != login {
			return nobody
		}
		with, err := d.q.MemberByLogin(ctx, login, f.Local())
		switch {
		case err != nil:
			return absent(err, nobody)
		case with.ID == d.s.Creator:
			return claudehub.Errorf(claudehub.Conflict, "This Session is yours: there is no need to share it with yourself.")
		}
		fresh, err := d.q.AddShare(ctx, id, with.ID, false, d.now)
		if err != nil || !fresh {
			return err
		}
		named, _, err := d.q.CountShares(ctx, id)
		if err != nil {
			return err
		}
		if named > claudehub.MaxShared {
			return claudehub.Errorf(claudehub.TooMany, "This Session is shared with %d people, which is the most. Share it by a link instead.", claudehub.MaxShared)
		}
		return d.share(ctx, with.ID, "person", string(with.ID), "login", with.Login)
	})
}

// share stores that sharing changed, and for whom; with nobody in particular, for many. Pairs go into the audit log.
func (d *decision) share(ctx context.Context, with claudehub.PersonID, pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		d.tell(pairs[i], pairs[i+1])
	}
	d.shared = append(d.shared, with)
	d.s.Updated = d.now
	return d.q.SetSharing(ctx, d.s)
}

// Unshare takes a Session from a person, however they came to it, and bars its link to them.
func (f *Fleet) Unshare(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, person claudehub.PersonID) (claudehub.Session, error) {
	return f.asCreator(ctx, p, id, "session.unshare", func(d *decision) error {
		if clip(string(person), maxQuery) != string(person) {
			return errNotShared
		}
		if err := d.q.RemoveShare(ctx, id, person, d.s.LinkHash != ""); err != nil {
			return absent(err, errNotShared)
		}
		face, err := d.q.Face(ctx, person)
		if err != nil {
			return err
		}
		return d.share(ctx, person, "person", string(person), "login", face.Login)
	})
}

// ShareEveryone lets everyone on this Hub watch who can see the Session's repository at GitHub, or ends that.
func (f *Fleet) ShareEveryone(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, on bool) (claudehub.Session, error) {
	action, word := "session.share", "on"
	if !on {
		action, word = "session.unshare", "off"
	}
	return f.asCreator(ctx, p, id, action, func(d *decision) error {
		if d.s.Shared.Everyone == on {
			return nil
		}
		if on {
			if err := f.everyoneCan(d.s.Source); err != nil {
				return err
			}
		}
		d.s.Shared.Everyone = on
		return d.share(ctx, "", "everyone", word)
	})
}

// everyoneCan refuses a Session of whose repository the Hub's GitHub knows nothing.
func (f *Fleet) everyoneCan(src claudehub.Source) error {
	switch _, ok := f.repoHere(src); {
	case ok:
		return nil
	case f.sights.ask == nil:
		return claudehub.Errorf(claudehub.Invalid, "This Hub does not use GitHub, so it cannot tell who may see a repository. Share the Session with people by name.")
	case src.GitURL == "":
		return claudehub.Errorf(claudehub.Invalid, "This Session has no repository, so that nobody can be told by it. Share it with people by name.")
	}
	return claudehub.Errorf(claudehub.Invalid, "The repository of this Session is not at %s, so the Hub cannot tell who may see it. Share the Session with people by name.", f.sights.host)
}

// FindPeople lists people on this Hub whose login or name begins with what was typed.
func (f *Fleet) FindPeople(ctx context.Context, p claudehub.PersonID, query string) ([]claudehub.Face, error) {
	query = strings.TrimPrefix(strings.TrimSpace(query), "@")
	if query == "" || clip(query, maxQuery) != query {
		return []claudehub.Face{}, nil
	}
	all, err := f.st.Read().Members(ctx, query, f.Local(), maxFound+1)
	out := make([]claudehub.Face, 0, len(all))
	for _, face := range all {
		if face.ID != p && len(out) < maxFound {
			out = append(out, face)
		}
	}
	return out, err
}
