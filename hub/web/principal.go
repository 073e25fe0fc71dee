package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// principal is the kind of caller that a route serves.
type principal int

// The principals. The zero value is none, and such a route panics at registration.
const (
	nobody   principal = iota
	anyone             // public: no credential is looked at
	person             // a signed-in browser, by cookie
	runnerOf           // a Runner, by bearer token
)

func (p principal) String() string {
	return [...]string{"nobody", "public", "person", "runner"}[p]
}

const cookieName = "claude_hub"

// A missing, a malformed, an unknown, an expired and a revoked credential are answered alike.
var (
	errSignIn      = claudehub.Errorf(claudehub.Unauthenticated, "You are not signed in. Open a new sign-in link.")
	errRunnerToken = claudehub.Errorf(claudehub.Unauthenticated, "The Hub does not know this Runner's token. Give the Runner a new one.")
)

// personCaller is who asks on a person's route.
type personCaller struct {
	claudehub.Person
	signIn fleet.SignIn
	cookie claudehub.Token
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
func (s *server) authenticate(p principal, r *http.Request) (*http.Request, error) {
	var caller any
	var err error
	switch p {
	case anyone:
		return r, nil
	case person:
		caller, err = s.personOf(r)
	case runnerOf:
		caller, err = s.runnerOf(r)
	default:
		return nil, claudehub.Errorf(claudehub.Internal, "This route serves nobody.")
	}
	if err != nil {
		return nil, err
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)), nil
}

func (s *server) personOf(r *http.Request) (personCaller, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return personCaller{}, errSignIn
	}
	token, err := claudehub.ParseToken(claudehub.BrowserToken, cookie.Value)
	if err != nil {
		return personCaller{}, errSignIn
	}
	p, in, err := s.fleet.Authenticate(r.Context(), token)
	if err != nil {
		return personCaller{}, sameAs(err, errSignIn)
	}
	return personCaller{Person: p, signIn: in, cookie: token}, nil
}

func (s *server) runnerOf(r *http.Request) (runnerCaller, error) {
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
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
	_, _, err := s.fleet.Authenticate(ctx, c.cookie)
	return revoked(sameAs(err, errSignIn))
}

func (s *server) stillKnown(ctx context.Context, c runnerCaller) error {
	_, err := s.fleet.AuthenticateRunner(ctx, c.token)
	return revoked(sameAs(err, errRunnerToken))
}

func revoked(err error) error {
	if claudehub.CodeOf(err) == claudehub.Unauthenticated {
		return err
	}
	return nil
}
