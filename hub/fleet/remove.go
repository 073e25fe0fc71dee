package fleet

import (
	"context"
	"strconv"
	"time"

	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// remove closes the Hub for a person, at once: their browsers and API tokens are deleted, their Runners' tokens are not
// accepted. Nothing else of theirs is touched, and what runs on their machines goes on. A later sign-in that is allowed
// opens it again. The caller says so afterwards, by removed.
func (f *Fleet) remove(ctx context.Context, q store.Q, p claudehub.Person, why github.Reason) error {
	if err := q.SetRemoved(ctx, p.ID, f.now()); err != nil {
		return err
	}
	browsers, tokens, err := q.SignOutEverywhere(ctx, p.ID)
	if err != nil {
		return err
	}
	return f.note(WithActor(ctx, Actor{Kind: claudehub.ActorSystem}), q, "person.remove", string(p.ID), map[string]string{
		"login": p.Login, "why": string(why), "browsers": strconv.Itoa(browsers), "tokens": strconv.Itoa(tokens)})
}

// removed cuts what a person has open.
func (f *Fleet) removed(ctx context.Context, p claudehub.Person, why github.Reason) {
	f.log.Info("a person is removed", "person", p.ID, "login", p.Login, "why", why)
	f.credentialsChanged(p.ID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
	defer cancel()
	runners, err := f.st.Read().Runners(ctx, p.ID)
	if err != nil { // their streams authenticate again at the next ping
		f.log.Warn("streams of a removed person's Runners are not cut", "person", p.ID, "err", err)
	}
	for _, r := range runners {
		f.tell(r.ID, Revoked, nil)
	}
}

// removeByGitHub removes the person with that id at GitHub, if the Hub knows them.
func (f *Fleet) removeByGitHub(ctx context.Context, who github.Identity, why github.Reason) error {
	var p claudehub.Person
	err := f.writeAgain(ctx, func(q store.Q) (err error) {
		if err := q.LockIdentity(ctx, who.ID, who.Login); err != nil {
			return err
		}
		if p, err = q.LockPersonByGitHub(ctx, who.ID); err != nil || !p.Removed.IsZero() {
			p.ID = ""
			return absentIsFine(err)
		}
		if p, err = f.rename(ctx, q, p, who); err != nil {
			return err
		}
		return f.remove(ctx, q, p, why)
	})
	if err == nil && p.ID != "" {
		f.removed(ctx, p, why)
	}
	return err
}

func absentIsFine(err error) error {
	if claudehub.CodeOf(err) == claudehub.NotFound {
		return nil
	}
	return err
}

// endClaim stores what a recheck came to. A claim that is over changes nothing.
func (f *Fleet) endClaim(ctx context.Context, c store.Claim, v github.Verdict, checked time.Time) error {
	var p claudehub.Person
	err := f.writeAgain(ctx, func(q store.Q) (err error) {
		if err := q.LockIdentity(ctx, c.GitHub, v.Identity.Login); err != nil {
			return err
		}
		if err := q.EndClaim(ctx, c, checked); err != nil {
			p.ID = ""
			return absentIsFine(err)
		}
		if p, err = q.Person(ctx, c.Person); err != nil {
			return err
		}
		if v.Identity.ID == c.GitHub {
			if p, err = f.rename(ctx, q, p, v.Identity); err != nil {
				return err
			}
		}
		if v.Allowed {
			return nil
		}
		return f.remove(ctx, q, p, v.Reason)
	})
	if err == nil && p.ID != "" && !v.Allowed {
		f.removed(ctx, p, v.Reason)
	}
	return err
}
