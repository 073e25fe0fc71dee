package fleet

import (
	"context"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// errNoLink is said of every link that lets nobody in: unknown, replaced, revoked, of a Session that is gone, or barred.
var errNoLink = claudehub.Errorf(claudehub.NotFound, "This link does not work, or no longer. Ask whoever sent it for a new one.")

// CreateLink makes a link whose holder may watch a Session, shown this once. It takes the place of an older one; who came
// in by that stays.
func (f *Fleet) CreateLink(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Token, claudehub.Session, error) {
	token := claudehub.NewToken(claudehub.JoinToken)
	s, err := f.asCreator(ctx, p, id, "session.link", func(d *decision) error {
		d.s.LinkHash, d.s.LinkCreated, d.s.Shared.Link = token.Hash(), d.now, true
		if err := d.q.LiftBars(ctx, id); err != nil {
			return err
		}
		return d.share(ctx, d.s.Creator)
	})
	if err != nil {
		return claudehub.Token{}, claudehub.Session{}, err
	}
	return token, s, nil
}

// RevokeLink ends a Session's link. Whoever came in by it may not watch any more.
func (f *Fleet) RevokeLink(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.asCreator(ctx, p, id, "session.unlink", func(d *decision) error {
		if err := d.q.RemoveJoined(ctx, id); err != nil {
			return err
		}
		if d.s.LinkHash == "" {
			return nil
		}
		d.s.LinkHash, d.s.LinkCreated, d.s.Shared.Link = "", time.Time{}, false
		return d.share(ctx, "")
	})
}

// Join lets the holder of a link watch its Session from now on.
func (f *Fleet) Join(ctx context.Context, p claudehub.PersonID, link claudehub.Token) (claudehub.Session, error) {
	if link.IsZero() || p == "" {
		return claudehub.Session{}, errNoLink
	}
	found, err := f.byLink(ctx, f.st.Read(), link)
	if err != nil {
		return claudehub.Session{}, err
	}
	ctx = asActor(ctx, p)
	var out claudehub.Session
	err = f.decideOn(ctx, found.Runner, found.ID, func(d *decision) error {
		if _, err := f.byLink(ctx, d.q, link); err != nil {
			return err // it was revoked meanwhile
		}
		a := claudehub.AccessCreator
		if p != d.s.Creator {
			a = claudehub.AccessParticipant
			if err := f.join(ctx, d, p); err != nil {
				return err
			}
		}
		out, err = f.showOne(ctx, d.q, a, d.s)
		return err
	})
	return out, absent(err, errNoLink)
}

func (f *Fleet) join(ctx context.Context, d *decision, p claudehub.PersonID) error {
	fresh, err := d.q.AddShare(ctx, d.s.ID, p, true, d.now)
	if err != nil {
		return err
	}
	if !fresh {
		in, err := d.q.SharedWith(ctx, d.s.ID, p)
		if err == nil && !in {
			err = errNoLink // barred
		}
		return err
	}
	_, joined, err := d.q.CountShares(ctx, d.s.ID)
	if err != nil {
		return err
	}
	if joined > maxJoins {
		return claudehub.Errorf(claudehub.TooMany, "%d people have joined this Session by its link, which is the most.", maxJoins)
	}
	if err := d.share(ctx, p); err != nil {
		return err
	}
	return f.note(ctx, d.q, "session.join", string(d.s.ID), nil)
}

// byLink finds the Session that a link opens.
func (f *Fleet) byLink(ctx context.Context, q store.Q, link claudehub.Token) (store.Session, error) {
	s, err := q.SessionByLink(ctx, link.Hash())
	switch {
	case err != nil:
		return store.Session{}, absent(err, errNoLink)
	case !sameHash(s.LinkHash, link.Hash()) || s.Desired == claudehub.WantDeleted || !shareable(s.Session):
		return store.Session{}, errNoLink
	}
	return s, nil
}
