package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"claude-hub/hub/fleet"
	"claude-hub/hub/fleet/policy"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// principal is the kind of caller that a route serves.
type principal int

// The principals. The zero value is none, and such a route panics at registration.
const (
	nobody   principal = iota
	anyone             // public: no credential is looked at
	person             // a signed-in browser, by cookie; with a scope, also a person's API token, as bearer
	admin              // a signed-in browser of an admin
	runnerOf           // a Runner, by bearer token
)

func (p principal) String() string {
	return [...]string{"nobody", "public", "person", "admin", "runner"}[p]
}

const cookieName = "claude_hub"

// A missing, a malformed, an unknown, an expired and a revoked credential are answered alike.
var (
	errSignIn      = claudehub.Errorf(claudehub.Unauthenticated, "You are not signed in. Sign in again.")
	errAPIToken    = claudehub.Errorf(claudehub.Unauthenticated, "The Hub does not know this API token, or it is over. Run claude-hub login, or make one in the Hub's settings.")
	errRunnerToken = claudehub.Errorf(claudehub.Unauthenticated, "The Hub does not know this Runner's token. Pair the Runner again.")
	errTwo         = claudehub.Errorf(claudehub.Invalid, "That request has a cookie and a token. Send one of them, so that it is clear who asks.")
)

// personCaller is who asks on a person's route: a browser, or what holds an API token.
type personCaller struct {
	claudehub.Person
	signIn fleet.SignIn
	cookie claudehub.Token

	token   claudehub.Token
	tokenID string
	scopes  []claudehub.Scope
}

// may tells whether this credential of the person's is good for a scope.
func (c personCaller) may(scope claudehub.Scope) bool {
	return c.token.IsZero() || slices.Contains(c.scopes, scope)
}

// runnerCaller is who asks on a Runner's route.
type runnerCaller struct {
	id       claudehub.RunnerID
	instance string
	token    claudehub.Token
}

type callerKey struct{}

func personFrom(ctx context.Context) personCaller { return ctx.Value(callerKey{}).(personCaller) }
func runnerFrom(ctx context.Context) runnerCaller { return ctx.Value(callerKey{}).(runnerCaller) }

// authenticate returns the request with its caller in it, or an error that says no more than "not you".
func (s *server) authenticate(rt route, r *http.Request) (*http.Request, error) {
	var caller any
	var err error
	rec := recordOf(r.Context())
	switch rt.who {
	case anyone:
		return r, nil
	case person, admin:
		caller, err = s.personOf(rt, r)
	case runnerOf:
		caller, err = s.runnerOf(r)
	default:
		return nil, claudehub.Errorf(claudehub.Internal, "This route serves nobody.")
	}
	if err != nil {
		if c, known := caller.(personCaller); known && c.ID != "" { // who it is is known, and what they may not
			rec.actor = actorOf(c, rec)
		}
		return nil, err
	}
	rec.actor = actorOf(caller, rec)
	return r.WithContext(fleet.WithActor(context.WithValue(r.Context(), callerKey{}, caller), rec.actor)), nil
}

// bearerOf is what a request has of a bearer token. Another scheme is a proxy's own affair.
func bearerOf(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return secret, strings.EqualFold(scheme, "Bearer")
}

// personOf finds the person by exactly one credential.
func (s *server) personOf(rt route, r *http.Request) (c personCaller, err error) {
	cookie, noCookie := r.Cookie(cookieName)
	secret, bearer := bearerOf(r)
	switch {
	case bearer && noCookie == nil:
		return c, errTwo
	case bearer:
		c, err = s.tokenHolder(r.Context(), rt.scope, secret)
	case noCookie != nil:
		return c, errSignIn
	default:
		c, err = s.browserOf(r.Context(), cookie.Value)
	}
	if err == nil && rt.who == admin && policy.Administer(c.Person) != nil {
		err = errNothing(r.Method)
	}
	return c, err
}

func (s *server) browserOf(ctx context.Context, value string) (personCaller, error) {
	token, err := claudehub.ParseToken(claudehub.BrowserToken, value)
	if err != nil {
		return personCaller{}, errSignIn
	}
	p, in, err := s.fleet.Authenticate(ctx, token)
	if err != nil {
		return personCaller{}, sameAs(err, errSignIn)
	}
	return personCaller{Person: p, signIn: in, cookie: token}, nil
}

func (s *server) tokenHolder(ctx context.Context, needs claudehub.Scope, secret string) (personCaller, error) {
	token, err := claudehub.ParseToken(claudehub.APITokenKind, secret)
	if err != nil {
		return personCaller{}, errAPIToken
	}
	p, t, err := s.fleet.AuthenticateToken(ctx, token)
	if err != nil {
		return personCaller{}, sameAs(err, errAPIToken)
	}
	return personCaller{Person: p, token: token, tokenID: t.ID, scopes: t.Scopes}, policy.Scoped(t.Scopes, needs)
}

func (s *server) runnerOf(r *http.Request) (runnerCaller, error) {
	secret, ok := bearerOf(r)
	if !ok {
		return runnerCaller{}, errRunnerToken
	}
	token, err := claudehub.ParseToken(claudehub.RunnerToken, secret)
	if err != nil {
		return runnerCaller{}, errRunnerToken
	}
	id, err := s.fleet.AuthenticateRunner(r.Context(), token)
	if err != nil {
		return runnerCaller{}, sameAs(err, errRunnerToken)
	}
	protocol, err := strconv.Atoi(r.Header.Get(wire.ProtocolHeader))
	if err != nil {
		return runnerCaller{}, claudehub.Errorf(claudehub.Invalid, "The header %s is missing or is not a number.", wire.ProtocolHeader)
	}
	if err := wire.CheckRunner(protocol); err != nil {
		return runnerCaller{}, err
	}
	instance := r.Header.Get(wire.InstanceHeader)
	if len(instance) < 8 || len(instance) > 64 || strings.Trim(instance, nameLetters) != "" {
		return runnerCaller{}, claudehub.Errorf(claudehub.Invalid, "The header %s has 8 to 64 letters, digits and hyphens.", wire.InstanceHeader)
	}
	s.renewed(id, instance, token)
	return runnerCaller{id: id, instance: instance, token: token}, nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// sameAs hides why a credential is not good. That the Hub cannot tell (a database that is away) is another thing.
func sameAs(err error, refused *claudehub.Error) error {
	switch claudehub.CodeOf(err) {
	case claudehub.Unauthenticated, claudehub.NotFound, claudehub.Expired, claudehub.Forbidden:
		return claudehub.WithCause(refused.Code, err, "%s", refused.Message)
	}
	return err
}

// stillIn ends what lives long when its credential was revoked meanwhile. That the Hub cannot tell is no reason.
func (s *server) stillIn(ctx context.Context, c personCaller) error {
	if !c.token.IsZero() {
		_, _, err := s.fleet.AuthenticateToken(ctx, c.token)
		return revoked(sameAs(err, errAPIToken))
	}
	_, _, err := s.fleet.Authenticate(ctx, c.cookie)
	return revoked(sameAs(err, errSignIn))
}

// revocations says when to look whether a person's credential is good still. When it says nothing, each ping looks.
func (s *server) revocations(c personCaller) (look <-chan struct{}, stop func()) {
	poke := make(chan struct{}, 1)
	stop, err := s.fleet.Revocations(c.ID, func() {
		select {
		case poke <- struct{}{}:
		default:
		}
	})
	if err != nil {
		s.log.Warn("revocations are noticed later", "who", c.ID, "err", err)
		return nil, func() {}
	}
	return poke, stop
}

// stillKnown asks with the token that the Runner used last: while its stream is open it may have gone on to the next one.
func (s *server) stillKnown(ctx context.Context, l *link) error {
	last, before := l.tokens()
	_, err := s.fleet.AuthenticateRunner(ctx, last)
	if claudehub.CodeOf(err) == claudehub.Unauthenticated && !before.IsZero() {
		_, err = s.fleet.AuthenticateRunner(ctx, before) // a request that came late may have named the older one last
	}
	return revoked(sameAs(err, errRunnerToken))
}

func revoked(err error) error {
	if claudehub.CodeOf(err) == claudehub.Unauthenticated {
		return err
	}
	return nil
}
