package fleet

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	localLogin   = "local"
	linkLife     = 15 * time.Minute
	signInLife   = 30 * 24 * time.Hour
	touchEvery   = time.Minute
	maxUserAgent = 300
	maxAddress   = 100
)

var (
	errSignedOut = claudehub.Errorf(claudehub.Unauthenticated, "You are signed out. Sign in with a new link from `claude-hub sign-in-link`.")
	errBadLink   = claudehub.Errorf(claudehub.Unauthenticated,
		"That sign-in link was used already, or is older than 15 minutes. Get a new one with `claude-hub sign-in-link`.")
	errNoSignIn = claudehub.Errorf(claudehub.NotFound, "There is no sign-in with that id.")
)

// SignIn is one browser that a person is signed in with.
type SignIn struct {
	ID        string    `json:"id"`
	UserAgent string    `json:"user_agent"`
	Address   string    `json:"address"`
	Created   time.Time `json:"created"`
	LastUsed  time.Time `json:"last_used"`
}

// LocalPerson is the one person of local mode. It is made on first use.
func (f *Fleet) LocalPerson(ctx context.Context) (claudehub.Person, error) {
	var p claudehub.Person
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		p, err = f.localPerson(ctx, q)
		return err
	})
	return p, err
}

func (f *Fleet) localPerson(ctx context.Context, q store.Q) (claudehub.Person, error) {
	p, err := q.PersonByLogin(ctx, localLogin)
	if claudehub.CodeOf(err) != claudehub.NotFound {
		return p, err
	}
	p = claudehub.Person{ID: claudehub.NewPersonID(), Login: localLogin, Name: "You", Created: f.now()}
	if err := q.AddPerson(ctx, p); err != nil {
		return claudehub.Person{}, err
	}
	return q.PersonByLogin(ctx, localLogin) // another process may have been first
}

// SignInLink makes the token of a link that signs the local person in: once, within 15 minutes.
func (f *Fleet) SignInLink(ctx context.Context) (claudehub.Token, error) {
	token := claudehub.NewToken(claudehub.SignInToken)
	err := f.st.Write(ctx, func(q store.Q) error {
		p, err := f.localPerson(ctx, q)
		if err != nil {
			return err
		}
		return q.AddSignInLink(ctx, token.Hash(), p.ID, f.now(), f.now().Add(linkLife))
	})
	if err != nil {
		return claudehub.Token{}, err
	}
	return token, nil
}

// SignIn uses up a link and makes the browser's cookie.
func (f *Fleet) SignIn(ctx context.Context, link claudehub.Token, userAgent, address string) (claudehub.Token, error) {
	cookie := claudehub.NewToken(claudehub.BrowserToken)
	err := f.st.Write(ctx, func(q store.Q) error {
		p, err := q.UseSignInLink(ctx, link.Hash(), f.now())
		if err != nil {
			return absent(err, errBadLink)
		}
		return q.AddSignIn(ctx, store.SignIn{ID: "sig_" + claudehub.NewNonce(), Hash: cookie.Hash(), Person: p,
			UserAgent: clip(userAgent, maxUserAgent), Address: clip(address, maxAddress), Created: f.now(), LastUsed: f.now()})
	})
	if err != nil {
		return claudehub.Token{}, err
	}
	return cookie, nil
}

// Authenticate finds whose cookie that is. Each use makes it good for 30 days more.
func (f *Fleet) Authenticate(ctx context.Context, cookie claudehub.Token) (claudehub.Person, SignIn, error) {
	s, p, err := f.signIn(ctx, cookie)
	if err != nil {
		return claudehub.Person{}, SignIn{}, err
	}
	if now := f.now(); now.Sub(s.LastUsed) >= touchEvery {
		// A browser that could not be noted is signed in all the same.
		if err := f.st.Write(ctx, func(q store.Q) error { return q.TouchSignIn(ctx, s.ID, now) }); err != nil {
			f.log.Warn("last use of a sign-in is not stored", "sign_in", s.ID, "err", err)
		} else {
			s.LastUsed = now
		}
	}
	return p, publicSignIn(s), nil
}

func (f *Fleet) signIn(ctx context.Context, cookie claudehub.Token) (store.SignIn, claudehub.Person, error) {
	if cookie.IsZero() {
		return store.SignIn{}, claudehub.Person{}, errSignedOut
	}
	hash := cookie.Hash()
	s, p, err := f.st.Read().SignInByHash(ctx, hash)
	if err != nil {
		return s, p, absent(err, errSignedOut)
	}
	if !sameHash(s.Hash, hash) || f.now().Sub(s.LastUsed) >= signInLife {
		return s, p, errSignedOut
	}
	return s, p, nil
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// SignOut ends the sign-in with that cookie.
func (f *Fleet) SignOut(ctx context.Context, cookie claudehub.Token) error {
	return f.st.Write(ctx, func(q store.Q) error { return q.DeleteSignInByHash(ctx, cookie.Hash()) })
}

// SignIns lists the browsers that a person is signed in with, the last used first.
func (f *Fleet) SignIns(ctx context.Context, p claudehub.PersonID) ([]SignIn, error) {
	all, err := f.st.Read().SignIns(ctx, p)
	if err != nil {
		return nil, err
	}
	out := make([]SignIn, 0, len(all))
	for _, s := range all {
		if f.now().Sub(s.LastUsed) < signInLife {
			out = append(out, publicSignIn(s))
		}
	}
	return out, nil
}

// RevokeSignIn ends one of a person's sign-ins. Streams that it opened end when they authenticate the next time.
func (f *Fleet) RevokeSignIn(ctx context.Context, p claudehub.PersonID, id string) error {
	err := f.st.Write(ctx, func(q store.Q) error { return q.DeleteSignIn(ctx, p, id) })
	return absent(err, errNoSignIn)
}

func publicSignIn(s store.SignIn) SignIn {
	return SignIn{ID: s.ID, UserAgent: s.UserAgent, Address: s.Address, Created: s.Created, LastUsed: s.LastUsed}
}

// clip makes a stranger's text short and storable: PostgreSQL takes neither broken UTF-8 nor NUL.
func clip(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
