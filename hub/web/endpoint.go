package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// What an API token needs for a route of a person. What says browser is for signed-in browsers alone.
const (
	browser      = claudehub.ScopeNone
	read         = claudehub.ScopeRead
	drive        = claudehub.ScopeDrive
	environments = claudehub.ScopeEnvironments
	runners      = claudehub.ScopeRunners
)

// route is one line of the table as it is served.
type route struct {
	endpoint
	who     principal
	scope   claudehub.Scope
	handler http.Handler
}

func (rt route) pattern() string {
	if rt.Method == "" {
		return rt.Path
	}
	return rt.Method + " " + rt.Path
}

// endpoint is a route before it has a principal.
type endpoint struct {
	huma.Operation
	limit    int64 // of the body, in bytes
	stream   bool  // lives until an end hangs up
	open     opens // what counts as long as it is open
	attempts func(*limits) *rates
	code     bool // takes something that could be guessed
}

// opens is what stays open on a route.
type opens int

const (
	opensNothing opens = iota
	opensSocket
	opensStream
)

const (
	bodyLimit   = 64 << 10
	promptLimit = 6*claudehub.MaxPrompt + 64<<10 // JSON may write a byte as six
	statusLimit = 16 << 20
	eventsLimit = 64 << 20
	screenLimit = 8 << 20

	recipeLimit   = 6*claudehub.MaxSetup + 256<<10
	variableLimit = 6*claudehub.MaxVariableValue + 64<<10
	seedLimit     = 6*wire.MaxDevcontainer + 256<<10
)

func op(method, path, id, summary string) endpoint {
	return endpoint{Operation: huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary}, limit: bodyLimit}
}

func get(path, id, summary string) endpoint    { return op(http.MethodGet, path, id, summary) }
func post(path, id, summary string) endpoint   { return op(http.MethodPost, path, id, summary) }
func put(path, id, summary string) endpoint    { return op(http.MethodPut, path, id, summary) }
func patch(path, id, summary string) endpoint  { return op(http.MethodPatch, path, id, summary) }
func remove(path, id, summary string) endpoint { return op(http.MethodDelete, path, id, summary) }

func act(name, summary string) endpoint {
	return post("/api/sessions/{id}/"+name, name+"-session", summary)
}

func created(e endpoint) endpoint {
	e.DefaultStatus = http.StatusCreated
	return e
}

func sized(e endpoint, limit int64) endpoint {
	e.limit = limit
	return e
}

func stream(e endpoint) endpoint {
	e.stream = true
	return e
}

// listens is a stream of events to a page, and socket a terminal: of both one person may have so many.
func listens(e endpoint) endpoint {
	e.open = opensStream
	return stream(e)
}

func socket(e endpoint) endpoint {
	e.open = opensSocket
	return stream(e)
}

// signsIn is a way in, which one address may try so often.
func signsIn(e endpoint) endpoint {
	e.attempts = func(l *limits) *rates { return l.signIn }
	return e
}

// asksCode is what one address may have made so often.
func asksCode(e endpoint) endpoint {
	e.attempts = func(l *limits) *rates { return l.deviceCode }
	return e
}

// takesCode is where wrong codes are counted, by the person who tries them and by the address.
func takesCode(e endpoint) endpoint {
	e.code = true
	return e
}

// public, forPerson and forRunner register a handler whose input and output huma reads, checks and documents; the raw
// ones, those that speak for themselves.
func public[I, O any](t *table, e endpoint, h func(context.Context, *I) (*O, error)) {
	typed(t, anyone, browser, e, h)
}

func forPerson[I, O any](t *table, scope claudehub.Scope, e endpoint, h func(context.Context, personCaller, *I) (*O, error)) {
	typed(t, person, scope, e, func(ctx context.Context, in *I) (*O, error) { return h(ctx, personFrom(ctx), in) })
}

func forAdmin[I, O any](t *table, e endpoint, h func(context.Context, personCaller, *I) (*O, error)) {
	typed(t, admin, browser, e, func(ctx context.Context, in *I) (*O, error) { return h(ctx, personFrom(ctx), in) })
}

func rawAdmin(t *table, e endpoint, h func(http.ResponseWriter, *http.Request, personCaller) error) {
	t.raw(admin, browser, e, func(w http.ResponseWriter, r *http.Request) error { return h(w, r, personFrom(r.Context())) })
}

func rawPublic(t *table, e endpoint, h func(http.ResponseWriter, *http.Request) error) {
	t.raw(anyone, browser, e, h)
}

func rawPerson(t *table, scope claudehub.Scope, e endpoint, h func(http.ResponseWriter, *http.Request, personCaller) error) {
	t.raw(person, scope, e, func(w http.ResponseWriter, r *http.Request) error { return h(w, r, personFrom(r.Context())) })
}

func rawRunner(t *table, e endpoint, h func(http.ResponseWriter, *http.Request, runnerCaller) error) {
	t.raw(runnerOf, browser, e, func(w http.ResponseWriter, r *http.Request) error { return h(w, r, runnerFrom(r.Context())) })
}

func typed[I, O any](t *table, who principal, scope claudehub.Scope, e endpoint, h func(context.Context, *I) (*O, error)) {
	e.MaxBodyBytes, e.BodyReadTimeout = -1, -1 // guard bounds both
	t.describe(who, scope, &e)
	t.adding(who, scope, e)
	huma.Register(t.api, e.Operation, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, problemOf(ctx, err)
		}
		return out, nil
	})
}
