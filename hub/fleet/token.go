package fleet

import (
	"context"
	"strings"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// tokensKept: a token that expired stays listed for so long, so that whoever wonders finds out why a script stopped.
const tokensKept = 30 * 24 * time.Hour

var (
	errNoToken  = claudehub.Errorf(claudehub.NotFound, "There is no API token with that id.")
	errBadToken = claudehub.Errorf(claudehub.Unauthenticated,
		"The Hub does not know this API token, or it is over. Make a new one in the Hub's settings, or run `claude-hub login`.")
)

// AuthenticateToken finds whose API token that is. When it was last used, and from where, is written once a minute.
func (f *Fleet) AuthenticateToken(ctx context.Context, token claudehub.Token) (claudehub.Person, claudehub.APIToken, error) {
	if token.IsZero() {
		return claudehub.Person{}, claudehub.APIToken{}, errBadToken
	}
	hash := token.Hash()
	t, p, err := f.st.Read().APITokenByHash(ctx, hash)
	if err != nil {
		return claudehub.Person{}, claudehub.APIToken{}, absent(err, errBadToken)
	}
	now := f.now()
	if !sameHash(t.Hash, hash) || over(t.APIToken, now) || f.mayEnter(p) != nil {
		return claudehub.Person{}, claudehub.APIToken{}, errBadToken
	}
	if now.Sub(t.LastUsed) >= touchEvery {
		address := clip(actorOf(ctx).Address, maxAddress)
		err := f.st.Write(ctx, func(q store.Q) error {
			if err := q.TouchAPIToken(ctx, t.ID, address, now); err != nil {
				return err
			}
			return q.TouchPerson(ctx, p.ID, now)
		})
		if err != nil { // it is good all the same
			f.log.Warn("last use of an API token is not stored", "token", t.ID, "err", err)
		} else {
			t.LastUsed, t.Address, p.Seen = now, address, now
		}
	}
	return p, t.APIToken, nil
}

func over(t claudehub.APIToken, now time.Time) bool {
	return !t.Expires.IsZero() && !t.Expires.After(now)
}

// APITokens lists a person's API tokens, the newest first.
func (f *Fleet) APITokens(ctx context.Context, p claudehub.PersonID) ([]claudehub.APIToken, error) {
	all, err := f.st.Read().APITokens(ctx, p)
	out := make([]claudehub.APIToken, len(all))
	for i, t := range all {
		out[i] = t.APIToken
	}
	return out, err
}

// CreateAPIToken makes a token, which is shown this once. Without an end it lives until it is revoked.
func (f *Fleet) CreateAPIToken(ctx context.Context, p claudehub.PersonID, name string, scopes []claudehub.Scope, expires time.Time) (claudehub.APIToken, claudehub.Token, error) {
	name = strings.TrimSpace(name)
	if err := validTokenName(name); err != nil {
		return claudehub.APIToken{}, claudehub.Token{}, err
	}
	if err := claudehub.ValidScopes(scopes); err != nil {
		return claudehub.APIToken{}, claudehub.Token{}, err
	}
	if err := claudehub.ValidExpiry(expires, f.now()); err != nil {
		return claudehub.APIToken{}, claudehub.Token{}, err
	}
	ctx = asActor(ctx, p)
	var made claudehub.APIToken
	var token claudehub.Token
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		made, token, err = f.addToken(ctx, q, p, claudehub.APIToken{Name: name, Scopes: scopes, Expires: store.Round(expires)})
		return err
	})
	if err != nil {
		return claudehub.APIToken{}, claudehub.Token{}, err
	}
	return made, token, nil
}

// addToken stores a token that was found valid, if the person has room for one more.
func (f *Fleet) addToken(ctx context.Context, q store.Q, p claudehub.PersonID, t claudehub.APIToken) (claudehub.APIToken, claudehub.Token, error) {
	if err := roomForToken(ctx, q, p); err != nil {
		return t, claudehub.Token{}, err
	}
	token := claudehub.NewToken(claudehub.APITokenKind)
	t.ID, t.Created = "tok_"+claudehub.NewNonce(), f.now()
	if err := q.AddAPIToken(ctx, store.APIToken{APIToken: t, Person: p, Hash: token.Hash()}); err != nil {
		return t, claudehub.Token{}, err
	}
	return t, token, f.note(ctx, q, "token.create", t.ID, tokenDetail(t))
}

// roomForToken counts while nobody else does.
func roomForToken(ctx context.Context, q store.Q, p claudehub.PersonID) error {
	if err := q.LockPerson(ctx, p); err != nil {
		return err
	}
	all, err := q.APITokens(ctx, p)
	if err == nil && len(all) >= claudehub.MaxTokens {
		err = claudehub.Errorf(claudehub.TooMany, "You have %d API tokens, which is the most. Revoke one that you do not need, in the Hub's settings.", len(all))
	}
	return err
}

func tokenDetail(t claudehub.APIToken) map[string]string {
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	expires := "never"
	if !t.Expires.IsZero() {
		expires = t.Expires.Format(time.RFC3339)
	}
	return map[string]string{"name": t.Name, "scopes": strings.Join(scopes, " "), "expires": expires}
}

func validTokenName(name string) error {
	if claudehub.ValidTitle(name) != nil || len([]rune(name)) > claudehub.MaxTokenName {
		return claudehub.Errorf(claudehub.Invalid, "A token's name is one line of 1 to %d characters.", claudehub.MaxTokenName)
	}
	return nil
}

// RevokeAPIToken ends one of a person's tokens at once.
func (f *Fleet) RevokeAPIToken(ctx context.Context, p claudehub.PersonID, id string) error {
	ctx = asActor(ctx, p)
	err := f.st.Write(ctx, func(q store.Q) error {
		if err := q.DeleteAPIToken(ctx, p, clip(id, maxLine)); err != nil {
			return absent(err, errNoToken)
		}
		return f.note(ctx, q, "token.revoke", id, nil)
	})
	if err == nil {
		f.credentialsChanged(p)
	}
	return err
}
