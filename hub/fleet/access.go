package fleet

import (
	"context"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// access is what a person has of a Session. Where it takes GitHub's word that is not known, or old, GitHub is asked: so it
// is for outside of transactions.
func (f *Fleet) access(ctx context.Context, q store.Q, p claudehub.PersonID, s claudehub.Session) (claudehub.Access, error) {
	return f.accessBy(ctx, q, p, s, f.seesNow)
}

// accessNow is access inside of a transaction: it takes what GitHub said last.
func (f *Fleet) accessNow(ctx context.Context, q store.Q, p claudehub.PersonID, s claudehub.Session) (claudehub.Access, error) {
	return f.accessBy(ctx, q, p, s, f.saw)
}

type seeing func(ctx context.Context, q store.Q, p claudehub.PersonID, repos []string) (map[string]bool, error)

func (f *Fleet) accessBy(ctx context.Context, q store.Q, p claudehub.PersonID, s claudehub.Session, sees seeing) (claudehub.Access, error) {
	a := policy.Access(p, s.Creator, policy.Grant{})
	if a != claudehub.AccessNone || p == "" || !shareable(s) {
		return a, nil
	}
	named, err := q.SharedWith(ctx, s.ID, p)
	if err != nil {
		return claudehub.AccessNone, err
	}
	g := policy.Grant{Named: named, Everyone: s.Shared.Everyone}
	if repo, ok := f.repoHere(s.Source); ok && g.Everyone && !named {
		seen, err := sees(ctx, q, p, []string{repo})
		if err != nil {
			return claudehub.AccessNone, err
		}
		g.Sees = seen[repo]
	}
	return policy.Access(p, s.Creator, g), nil
}

// shareable: a look inside a failed build shows what belongs to an Environment, which nobody else sees.
func shareable(s claudehub.Session) bool { return s.Kind != claudehub.KindLook }

// find finds a Session, and what a person has of it; both absent and not theirs is NotFound.
func (f *Fleet) find(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (store.Session, claudehub.Access, error) {
	q := f.st.Read()
	s, err := q.Session(ctx, id)
	if err != nil {
		return store.Session{}, claudehub.AccessNone, absent(err, errNoSession)
	}
	a, err := f.access(ctx, q, p, s.Session)
	if err == nil {
		err = policy.Watch(a)
	}
	if err != nil {
		return store.Session{}, claudehub.AccessNone, err
	}
	return s, a, nil
}

// StillWatches refuses who may not, or no longer, watch a Session. What stays open asks it again and again.
func (f *Fleet) StillWatches(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) error {
	_, _, err := f.find(ctx, p, id)
	return err
}

// mayDrive refuses who may not type, prompt, wake, sleep, archive or change.
func (f *Fleet) mayDrive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) error {
	_, a, err := f.find(ctx, p, id)
	if err != nil {
		return err
	}
	return policy.Drive(a)
}
