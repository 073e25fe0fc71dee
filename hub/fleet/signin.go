package fleet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"claude-hub/hub/github"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	maxSealed   = 4 << 10         // a cookie has less
	revokeLimit = 5 * time.Second // for giving a token back, while a person waits
)

// signInPlace binds a sealed sign-in to being one.
var signInPlace = secret.Place{Scope: "sign-in"}

var (
	errLocalMode = claudehub.Errorf(claudehub.NotFound, "This Hub has no sign-in with GitHub. Use the link that it printed when it started.")
	errStale     = claudehub.Errorf(claudehub.Unauthenticated, "That sign-in is not valid, or not any more. Start again from the sign-in page.")
)

// away is what a browser keeps while its person is at GitHub.
type away struct {
	Pending github.Pending `json:"pending"`
	Next    string         `json:"next"`
}

// BeginSignIn returns the address at GitHub to send a browser to, and what to put into that browser's cookie: only with
// it the answer is good. Next is where the person wants to go in the end.
func (f *Fleet) BeginSignIn(_ context.Context, next string) (location, sealed string, err error) {
	if f.Local() {
		return "", "", errLocalMode
	}
	if f.secrets == nil {
		return "", "", errNoKeyset
	}
	location, pending, err := f.github.Begin(f.redirect)
	if err != nil {
		return "", "", err
	}
	clear, err := json.Marshal(away{pending, LocalPath(next)})
	if err != nil {
		return "", "", err
	}
	b, err := f.secrets.Seal(clear, signInPlace)
	return location, base64.RawURLEncoding.EncodeToString(b), err
}

// FinishSignIn makes the browser's cookie, for a person whom the allow-list names. Sealed is what BeginSignIn put into
// the browser, and q is what GitHub sent it back with. That GitHub does not answer throws nobody out.
func (f *Fleet) FinishSignIn(ctx context.Context, sealed string, q url.Values, userAgent string) (cookie claudehub.Token, next string, err error) {
	if f.Local() {
		return claudehub.Token{}, "/", errLocalMode
	}
	begun, err := f.unseal(sealed)
	if err != nil {
		f.NoteRefusal(ctx, "sign-in", "", err)
		return claudehub.Token{}, "/", err
	}
	who, token, err := f.github.Finish(ctx, begun.Pending, github.AnswerFrom(q))
	if err != nil {
		f.NoteRefusal(ctx, "sign-in", "", err)
		return claudehub.Token{}, "/", err
	}
	verdict, err := f.github.Allowed(ctx, token, f.allow)
	if err == nil {
		err = verdict.Err()
	}
	if err == nil && verdict.Identity.ID != who.ID {
		err = errStale
	}
	if err == nil {
		cookie, err = f.enter(ctx, verdict.Identity, token, userAgent)
	}
	if err != nil {
		f.NoteRefusal(ctx, "sign-in", fmt.Sprintf("github:%d %s", who.ID, who.Login), err)
		f.turnAway(ctx, who, token, verdict)
		return claudehub.Token{}, "/", err
	}
	return cookie, LocalPath(begun.Next), nil
}

func (f *Fleet) unseal(sealed string) (away, error) {
	var a away
	if f.secrets == nil {
		return a, errNoKeyset
	}
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(b) == 0 || len(b) > maxSealed {
		return a, errStale
	}
	// Why it does not open is for the log alone: it may be another Hub's.
	clear, err := f.secrets.Open(b, signInPlace)
	if err != nil {
		f.log.Debug("the cookie of a sign-in does not open", "err", err)
		return a, errStale
	}
	if json.Unmarshal(clear, &a) != nil || a.Pending.Redirect != f.redirect {
		return a, errStale
	}
	return a, nil
}

// enter signs in a person whom GitHub vouches for. Whoever was removed is back.
func (f *Fleet) enter(ctx context.Context, who github.Identity, token github.Token, userAgent string) (claudehub.Token, error) {
	var cookie claudehub.Token
	err := f.writeAgain(ctx, func(q store.Q) error {
		p, err := f.knownAs(ctx, q, who)
		if err != nil {
			return err
		}
		if !p.Removed.IsZero() {
			if err := q.SetRemoved(ctx, p.ID, time.Time{}); err != nil {
				return err
			}
			if err := f.note(asActor(ctx, p.ID), q, "person.return", string(p.ID), nil); err != nil {
				return err
			}
		}
		sealed, err := f.sealToken(p.ID, token)
		if err != nil {
			return err
		}
		now := f.now()
		if err := q.SetChecked(ctx, p.ID, sealed, now); err != nil {
			return err
		}
		if err := q.TouchPerson(ctx, p.ID, now); err != nil {
			return err
		}
		cookie, err = f.addSignIn(ctx, q, p.ID, userAgent, actorOf(ctx).Address)
		return err
	})
	if err != nil {
		return claudehub.Token{}, err
	}
	return cookie, nil
}

// knownAs finds the person with that id at GitHub, or adds them, and takes over what they are called now. Two who sign in
// at the same moment are one.
func (f *Fleet) knownAs(ctx context.Context, q store.Q, who github.Identity) (claudehub.Person, error) {
	if err := q.LockIdentity(ctx, who.ID, who.Login); err != nil {
		return claudehub.Person{}, err
	}
	p, err := q.LockPersonByGitHub(ctx, who.ID)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		fresh := claudehub.Person{ID: claudehub.NewPersonID(), GitHub: who.ID, Role: claudehub.RoleMember, Created: f.now()}
		fresh = called(fresh, who)
		if err := q.FreeLogin(ctx, fresh.Login, fresh.ID); err != nil {
			return p, err
		}
		if err := q.AddPerson(ctx, fresh); err != nil {
			return p, err
		}
		if p, err = q.LockPersonByGitHub(ctx, who.ID); claudehub.CodeOf(err) == claudehub.NotFound {
			return p, claudehub.Errorf(claudehub.Conflict, "Somebody with the same login signs in at this moment. Try again.")
		}
	}
	if err != nil {
		return p, err
	}
	return f.rename(ctx, q, p, who)
}

// rename takes over what a person is called now.
func (f *Fleet) rename(ctx context.Context, q store.Q, p claudehub.Person, who github.Identity) (claudehub.Person, error) {
	now := called(p, who)
	if now == p {
		return p, nil
	}
	if !strings.EqualFold(now.Login, p.Login) {
		if err := q.FreeLogin(ctx, now.Login, p.ID); err != nil {
			return p, err
		}
	}
	return now, q.SetIdentity(ctx, now)
}

func called(p claudehub.Person, who github.Identity) claudehub.Person {
	p.Login, p.Name, p.Avatar = who.Login, who.Name, who.AvatarURL
	if p.Name == "" {
		p.Name = p.Login
	}
	return p
}

// turnAway gives back a token that nobody signs in with. A member of whom GitHub says here that no entry names them is
// removed at once, as a recheck would.
func (f *Fleet) turnAway(ctx context.Context, who github.Identity, token github.Token, v github.Verdict) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeLimit)
	defer cancel()
	if v.Reason == github.NotListed && v.Identity.ID == who.ID {
		if err := f.removeByGitHub(ctx, who, v.Reason); err != nil {
			f.log.Error("a person who is not on the allow-list is not removed", "github", who.ID, "err", err)
		}
	}
	if err := f.github.Revoke(ctx, token); err != nil {
		f.log.Warn("a GitHub token that is not needed stays good", "github", who.ID, "err", err)
	}
}
