package fleet

import (
	"context"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/github"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const defaultRecheck = 15 * time.Minute

// GitHub is what is asked of GitHub; *github.Client is one.
type GitHub interface {
	Begin(redirect string) (string, github.Pending, error)
	Finish(ctx context.Context, p github.Pending, a github.Answer) (github.Identity, github.Token, error)
	Allowed(ctx context.Context, t github.Token, list github.AllowList) (github.Verdict, error)
	Recheck(ctx context.Context, id int64, t github.Token, list github.AllowList, keep func(context.Context, github.Token) error) (github.Verdict, error)
	Revoke(ctx context.Context, t github.Token) error
}

// Local tells local mode: one person, who signs in with a link that the Hub prints.
func (f *Fleet) Local() bool { return f.github == nil }

// mayEnter refuses who is on the Hub no more. The person of local mode is nobody to a Hub that people sign in to with
// GitHub: what was printed once, on one machine, must not open what stands on the internet.
func (f *Fleet) mayEnter(p claudehub.Person) error {
	if !f.Local() && p.GitHub == 0 {
		p = claudehub.Person{}
	}
	return policy.Enter(p)
}

// githubToken is the token to ask GitHub with for a person; ok is false when the Hub has none.
func (f *Fleet) githubToken(ctx context.Context, q store.Q, p claudehub.PersonID) (token github.Token, ok bool, err error) {
	sealed, err := q.Credential(ctx, p)
	if err != nil || len(sealed) == 0 {
		return github.Token{}, false, err
	}
	if f.secrets == nil {
		return github.Token{}, false, errNoKeyset
	}
	clear, err := f.secrets.Open(sealed, credentialPlace(p))
	if err != nil {
		return github.Token{}, false, err
	}
	token, err = github.ParseToken(clear)
	if err != nil {
		return github.Token{}, false, claudehub.WithCause(claudehub.Internal, err, "The Hub's database holds something unreadable (a GitHub token).")
	}
	return token, true, nil
}

func (f *Fleet) sealToken(p claudehub.PersonID, t github.Token) ([]byte, error) {
	if f.secrets == nil {
		return nil, errNoKeyset
	}
	return f.secrets.Seal(t.Reveal(), credentialPlace(p))
}

// credentialPlace binds a sealed GitHub token to its person.
func credentialPlace(p claudehub.PersonID) secret.Place {
	return secret.Place{Owner: string(p), Scope: "github"}
}

// resealTokens seals every GitHub token with the newest key.
func (f *Fleet) resealTokens(ctx context.Context, q store.Q) error {
	all, err := q.AllCredentials(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		clear, err := f.secrets.Open(c.Sealed, credentialPlace(c.Person))
		if err != nil {
			return err
		}
		if c.Sealed, err = f.secrets.Seal(clear, credentialPlace(c.Person)); err != nil {
			return err
		}
		if err := q.SetCredential(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
