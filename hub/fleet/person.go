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
	errSignedOut = claudehub.Errorf(claudehub.Unauthenticated, "You are signed out. Sign in again; where there is no GitHub, with a new link from `claude-hub sign-in-link`.")
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

// localPerson: whoever has the login "local" from GitHub is somebody else, and keeps it.
func (f *Fleet) localPerson(ctx context.Context, q store.Q) (claudehub.Person, error) {
	p, err := q.LocalPerson(ctx)
	if claudehub.CodeOf(err) != claudehub.NotFound {
		return p, err
	}
	p = claudehub.Person{ID: claudehub.NewPersonID(), Login: localLogin, Name: "You", Role: claudehub.RoleAdmin, Created: f.now()}
	if _, err := q.PersonByLogin(ctx, localLogin); err == nil {
		p.Login += "#0"
	}
	if err := q.AddPerson(ctx, p); err != nil {
		return claudehub.Person{}, err
	}
	return q.LocalPerson(ctx) // another process may have been first
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
	if !f.Local() {
		return claudehub.Token{}, claudehub.Errorf(claudehub.Unauthenticated, "People sign in to this Hub with GitHub, not by a link.")
	}
	var cookie claudehub.Token
	err := f.st.Write(ctx, func(q store.Q) error {
		id, err := q.UseSignInLink(ctx, link.Hash(), f.now())
		if err != nil {
			return absent(err, errBadLink)
		}
		p, err := q.Person(ctx, id)
		if err != nil {
			return err
		}
		if err := f.mayEnter(p); err != nil {
			return errBadLink
		}
		cookie, err = f.addSignIn(ctx, q, id, userAgent, address)
		return err
	})
	if err != nil {
		return claudehub.Token{}, err
	}
	return cookie, nil
}

// addSignIn makes the cookie of a browser.
func (f *Fleet) addSignIn(ctx context.Context, q store.Q, p claudehub.PersonID, userAgent, address string) (claudehub.Token, error) {
	cookie, now := claudehub.NewToken(claudehub.BrowserToken), f.now()
	in := store.SignIn{ID: "sig_" + claudehub.NewNonce(), Hash: cookie.Hash(), Person: p,
		UserAgent: clip(userAgent, maxUserAgent), Address: clip(address, maxAddress), Created: now, LastUsed: now}
	if err := q.AddSignIn(ctx, in); err != nil {
		return claudehub.Token{}, err
	}
	return cookie, f.note(asActor(ctx, p), q, "sign-in", in.ID, map[string]string{"browser": in.UserAgent})
}

// Authenticate finds whose cookie that is. Each use makes it good for 30 days more.
func (f *Fleet) Authenticate(ctx context.Context, cookie claudehub.Token) (claudehub.Person, SignIn, error) {
	s, p, err := f.signIn(ctx, cookie)
	if err != nil {
		return claudehub.Person{}, SignIn{}, err
	}
	if now := f.now(); now.Sub(s.LastUsed) >= touchEvery {
		err := f.st.Write(ctx, func(q store.Q) error {
			if err := q.TouchSignIn(ctx, s.ID, now); err != nil {
				return err
			}
			return q.TouchPerson(ctx, p.ID, now)
		})
		if err != nil { // the browser is signed in all the same
			f.log.Warn("last use of a sign-in is not stored", "sign_in", s.ID, "err", err)
		} else {
			s.LastUsed, p.Seen = now, now
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
	if !sameHash(s.Hash, hash) || f.now().Sub(s.LastUsed) >= signInLife || f.mayEnter(p) != nil {
		return s, p, errSignedOut
	}
	return s, p, nil
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// SignOut ends the sign-in with that cookie, if it is there.
func (f *Fleet) SignOut(ctx context.Context, cookie claudehub.Token) error {
	var p claudehub.Person
	err := f.st.Write(ctx, func(q store.Q) error {
		s, whose, err := q.SignInByHash(ctx, cookie.Hash())
		if claudehub.CodeOf(err) == claudehub.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		p = whose
		if err := q.DeleteSignInByHash(ctx, cookie.Hash()); err != nil {
			return err
		}
		return f.note(asActor(ctx, p.ID), q, "sign-out", s.ID, nil)
	})
	if err == nil && p.ID != "" {
		f.credentialsChanged(p.ID)
	}
	return err
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

// RevokeSignIn ends one of a person's sign-ins.
func (f *Fleet) RevokeSignIn(ctx context.Context, p claudehub.PersonID, id string) error {
	ctx = asActor(ctx, p)
	err := f.st.Write(ctx, func(q store.Q) error {
		if err := q.DeleteSignIn(ctx, p, clip(id, maxLine)); err != nil {
			return absent(err, errNoSignIn)
		}
		return f.note(ctx, q, "sign-in.revoke", id, nil)
	})
	if err == nil {
		f.credentialsChanged(p)
	}
	return err
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
