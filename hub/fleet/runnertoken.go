package fleet

import (
	"context"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// rotationLife is how long a Runner's old token is good beside a next one that is never used.
const rotationLife = 7 * 24 * time.Hour

// Revoked is the kind that a Runner's streams hear when its token opens nothing any more: they end at once.
const Revoked = "revoked"

var (
	errBadRunnerToken = claudehub.Errorf(claudehub.Unauthenticated, "The Hub does not know this Runner's token, or it was revoked. Pair the Runner again.")
	errRevoked        = claudehub.Errorf(claudehub.Forbidden, "This Runner was revoked. Pair it again on its machine, or choose another one.")
)

// AuthenticateRunner finds whose token that is. The first use of a next token ends the one before it. When a token was
// last used, and from where, is written once a minute.
func (f *Fleet) AuthenticateRunner(ctx context.Context, t claudehub.Token) (claudehub.RunnerID, error) {
	if t.IsZero() {
		return "", errBadRunnerToken
	}
	hash := t.Hash()
	known, err := f.st.Read().RunnerByToken(ctx, hash)
	if err != nil {
		return "", absent(err, errBadRunnerToken)
	}
	next := sameHash(known.Next, hash)
	if !next && !f.current(known, hash) || !known.Revoked.IsZero() || f.mayEnter(known.Owner) != nil {
		return "", errBadRunnerToken
	}
	now := f.now()
	if !next && now.Sub(known.LastUsed) < touchEvery {
		return known.Runner, nil
	}
	err = f.st.Write(ctx, func(q store.Q) error {
		if next {
			if err := q.PromoteRunnerToken(ctx, known.Runner, hash); err != nil {
				return err
			}
		}
		return q.TouchRunner(ctx, known.Runner, clip(actorOf(ctx).Address, maxAddress), now)
	})
	if err != nil { // the token is good all the same, and the next request tries again
		f.log.Warn("use of a Runner's token is not stored", "runner", known.Runner, "err", err)
	}
	return known.Runner, nil
}

// current tells the token that is good until the next one is used, and a week at the most when there is a next one.
func (f *Fleet) current(known store.RunnerToken, hash string) bool {
	return sameHash(known.Hash, hash) && (known.Next == "" || f.now().Sub(known.Rotated) < rotationLife)
}

// NextRunnerToken gives a Runner its next token. The one that it asked with stays good until the next one is first used,
// and a week at the most; one that was given out before and never used is dead.
func (f *Fleet) NextRunnerToken(ctx context.Context, id claudehub.RunnerID, used claudehub.Token) (claudehub.Token, error) {
	next := claudehub.NewToken(claudehub.RunnerToken)
	err := f.st.Write(ctx, func(q store.Q) error {
		if _, err := q.LockRunner(ctx, id); err != nil {
			return absent(err, errBadRunnerToken)
		}
		known, err := q.RunnerTokenOf(ctx, id)
		if err != nil {
			return err
		}
		hash := used.Hash()
		if sameHash(known.Next, hash) { // it was used before it could be promoted
			if err := q.PromoteRunnerToken(ctx, id, hash); err != nil {
				return err
			}
		} else if !f.current(known, hash) {
			return errBadRunnerToken
		}
		if !known.Revoked.IsZero() || f.mayEnter(known.Owner) != nil {
			return errBadRunnerToken
		}
		if err := q.SetNextRunnerToken(ctx, id, next.Hash(), f.now()); err != nil {
			return err
		}
		return f.note(asRunner(ctx, id), q, "runner.token", string(id), nil)
	})
	if err != nil {
		return claudehub.Token{}, err
	}
	return next, nil
}

// asRunner makes sure that what a Runner does is written down as its own.
func asRunner(ctx context.Context, id claudehub.RunnerID) context.Context {
	return WithActor(ctx, Actor{Kind: claudehub.ActorRunner, ID: string(id), Address: actorOf(ctx).Address})
}

// RevokeRunner ends a Runner's token, and its stream, at once. Its Sessions stay listed, and pairing takes it up again.
func (f *Fleet) RevokeRunner(ctx context.Context, p claudehub.Person, id claudehub.RunnerID) error {
	var r store.Runner
	ctx = asActor(ctx, p.ID)
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if r, err = q.LockRunner(ctx, id); err != nil {
			return absent(err, errNoRunner)
		}
		if err := policy.RevokeRunner(p, r.Owner); err != nil {
			return err
		}
		if !r.Revoked.IsZero() {
			return nil
		}
		now := f.now()
		if err := q.RevokeRunnerToken(ctx, id, now); err != nil {
			return err
		}
		r.Revoked = now
		if r.Link.State == claudehub.LinkUp {
			r.Link = claudehub.Link{State: claudehub.LinkDown, Since: now}
		}
		r.Lease.Instance = ""
		if err := q.SetLink(ctx, id, r.Link, r.Lease); err != nil {
			return err
		}
		return f.note(ctx, q, "runner.revoke", string(id), map[string]string{"name": r.Name, "owner": string(r.Owner)})
	})
	if err != nil {
		return err
	}
	f.tell(id, Revoked, nil)
	f.runnerChanged(r.Runner)
	return nil
}
