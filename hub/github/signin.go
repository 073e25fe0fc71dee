package github

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"claude-hub/internal/claudehub"
)

// Pending is a sign-in that a browser was sent away for. The caller seals it into that browser's cookie and nowhere
// else: that it comes back with the answer proves that the same browser began. It holds a secret, the verifier.
type Pending struct {
	State    string    `json:"state"`
	Verifier string    `json:"verifier"`
	Redirect string    `json:"redirect"`
	Expires  time.Time `json:"expires"`
}

// String hides the verifier.
func (p Pending) String() string { return "(pending sign-in)" }

// GoString hides the verifier from %#v too.
func (p Pending) GoString() string { return p.String() }

// Answer is what a browser brings back from GitHub.
type Answer struct{ Code, State, Error string }

// String hides the code.
func (a Answer) String() string { return "(answer to a sign-in)" }

// GoString hides the code from %#v too.
func (a Answer) GoString() string { return a.String() }

const (
	maxCode  = 512
	maxState = 128
)

// AnswerFrom reads the query of the redirect; a parameter that is there twice counts as missing.
func AnswerFrom(q url.Values) Answer {
	one := func(name string, most int) string {
		if v := q[name]; len(v) == 1 && len(v[0]) <= most {
			return v[0]
		}
		return ""
	}
	return Answer{one("code", maxCode), one("state", maxState), one("error", maxState)}
}

// Begin returns the address at GitHub to send a browser to, and what has to be there when it comes back. The redirect
// is the Hub's own address as it is registered at GitHub; it is never taken from a request.
func (c *Client) Begin(redirect string) (string, Pending, error) {
	if _, err := place("sign-in redirect", redirect); err != nil {
		return "", Pending{}, err
	}
	p := Pending{rand.Text(), oauth2.GenerateVerifier(), redirect, c.now().Add(pendingLife).UTC()}
	return c.oauth(redirect).AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier)), p, nil
}

// stale is the one sentence for every answer that is not the pending sign-in's own.
func stale(why string) error {
	return claudehub.WithCause(claudehub.Unauthenticated, errors.New(why), "That sign-in is not valid, or not any more. Start again from the sign-in page.")
}

// Finish changes the answer into the person's identity and a token to ask with. It does not say whether the person is
// allowed: that is Allowed.
func (c *Client) Finish(ctx context.Context, p Pending, a Answer) (Identity, Token, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.config.Timeout)
	defer cancel()
	if err := c.matches(p, a); err != nil {
		return Identity{}, Token{}, err
	}
	token, err := c.exchange(ctx, p, a.Code)
	if err != nil {
		return Identity{}, Token{}, err
	}
	who, err := c.whoami(ctx, token)
	var no *refusal
	switch {
	case errors.As(err, &no) && (no.status == http.StatusUnauthorized || no.status == http.StatusForbidden):
		return Identity{}, Token{}, stale(no.Error())
	case errors.As(err, &no):
		return Identity{}, Token{}, sentence(no.strange())
	case err != nil:
		return Identity{}, Token{}, sentence(err)
	}
	return who, token, nil
}

func (c *Client) matches(p Pending, a Answer) error {
	switch {
	case p.State == "" || p.Verifier == "" || subtle.ConstantTimeCompare([]byte(p.State), []byte(a.State)) != 1:
		return stale("the state is not the one of this browser's sign-in")
	case !c.now().Before(p.Expires):
		return stale("the sign-in took too long")
	case a.Error == "access_denied":
		return claudehub.Errorf(claudehub.Forbidden, "You declined at GitHub, so you are not signed in. Start again if that was a mistake.")
	case a.Error == codeRedirect || a.Error == codeSuspended:
		return misconfigured(a.Error)
	case a.Error != "" || a.Code == "":
		return stale("no code came back")
	}
	return nil
}

// exchange goes out once: a code is good once, and a second try would only burn the first one's token.
func (c *Client) exchange(ctx context.Context, p Pending, code string) (Token, error) {
	got, err := c.oauth(p.Redirect).Exchange(c.withHTTP(ctx), code, oauth2.VerifierOption(p.Verifier))
	word, outage := classifyToken(ctx, err)
	switch {
	case outage != nil:
		return Token{}, sentence(outage)
	case word == codeBad || word == codeGrant:
		return Token{}, stale("GitHub does not take the code")
	case word == codeUnverified:
		return Token{}, claudehub.Errorf(claudehub.Forbidden, "Your e-mail address is not verified at GitHub. Verify it there, then start again.")
	case word != "":
		return Token{}, misconfigured(word)
	}
	token, err := tokenOf(got)
	if err != nil {
		return Token{}, sentence(&Outage{Endpoint: "a token", What: "the answer is malformed"})
	}
	return token, nil
}

func misconfigured(word string) error {
	return claudehub.WithCause(claudehub.Unavailable, errors.New("GitHub refuses the application: "+word),
		"GitHub does not accept this Hub's application. Its operator has to compare client id, secret and redirect with what is registered at GitHub.")
}

func (c *Client) withHTTP(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c.http)
}

// sentence gives an outage its sentence; other errors have theirs.
func sentence(err error) error {
	var o *Outage
	if errors.As(err, &o) && claudehub.CodeOf(err) != claudehub.Unavailable {
		return unavailable(o)
	}
	return err
}
