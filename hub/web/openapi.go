package web

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// OpenAPI is the document of all routes (3.1), the same bytes for the same program. The front end's types are made from it.
func OpenAPI() ([]byte, error) {
	s := &server{log: slog.New(slog.DiscardHandler)}
	t := newTable("")
	s.register(t)
	return t.document()
}

func describeAPI(version string) *huma.OpenAPI {
	if version == "" {
		version = "1"
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "claude-hub", Version: version,
			Description: "People sign in with a cookie, or send an API token as bearer, and never both; a Runner has a bearer token. Errors are problems (RFC 9457)."},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"person": {Type: "apiKey", In: "cookie", Name: cookieName},
				"token":  {Type: "http", Scheme: "bearer", Description: "A person's API token, chp_…, with the scope that the route names. Where none is named, only a signed-in browser gets in."},
				"runner": {Type: "http", Scheme: "bearer"},
			},
		},
	}
}

// schemaName is a type's own name; what a Runner gets of a Variable is another thing than what people get.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[wire.Variable]() {
		return "SentVariable"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// describe writes into a route's operation whom it serves and what it answers when it refuses.
func (t *table) describe(who principal, scope claudehub.Scope, e *endpoint) {
	e.Security = []map[string][]string{}
	switch who {
	case person, admin:
		e.Security = []map[string][]string{{person.String(): {}}}
		if scope != browser {
			e.Security = append(e.Security, map[string][]string{"token": {string(scope)}})
		}
	case runnerOf:
		e.Security = []map[string][]string{{who.String(): {}}}
	}
	schemas := t.api.OpenAPI().Components.Schemas
	if e.Responses == nil {
		e.Responses = map[string]*huma.Response{}
	}
	e.Responses["default"] = &huma.Response{
		Description: "What went wrong",
		Content:     map[string]*huma.MediaType{problemType: {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")}},
	}
	extra, ok := rawDocs[e.OperationID]
	if !ok {
		return
	}
	for _, name := range extra.params {
		e.Parameters = append(e.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
	}
	for _, name := range extra.query {
		e.Parameters = append(e.Parameters, &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: "string"}})
	}
	content := func(kind string, types []reflect.Type) map[string]*huma.MediaType {
		m := &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		refs := make([]*huma.Schema, 0, len(types))
		for _, ty := range types {
			refs = append(refs, schemas.Schema(ty, true, ty.Name()))
		}
		switch len(refs) {
		case 0:
			m.Schema.Format = "binary"
		case 1:
			m.Schema = refs[0]
		default:
			m.Schema = &huma.Schema{OneOf: refs}
		}
		return map[string]*huma.MediaType{kind: m}
	}
	if extra.bodyKind != "" {
		e.RequestBody = &huma.RequestBody{Required: true, Content: content(extra.bodyKind, extra.body)}
	}
	res := &huma.Response{Description: extra.says}
	if extra.kind != "" {
		res.Content = content(extra.kind, extra.answer)
	}
	e.Responses[extra.status] = res
}

// rawDoc tells of a handler that huma does not see into.
type rawDoc struct {
	params       []string
	query        []string
	bodyKind     string
	body         []reflect.Type
	status, says string
	kind         string
	answer       []reflect.Type
}

func types(v ...any) []reflect.Type {
	out := make([]reflect.Type, len(v))
	for i, x := range v {
		out[i] = reflect.TypeOf(x)
	}
	return out
}

var rawDocs = map[string]rawDoc{
	"terminal": {
		params: []string{"id"}, status: "101", says: "TerminalUp one way; TerminalDown as text and Frames as binary the other",
		kind: "application/json", answer: types(wire.TerminalUp{}, wire.TerminalDown{}, wire.TerminalState{}, wire.InputReport{}),
	},
	"events": {
		status: "200", says: "Events session, runner, prompt, suggestion, presence, link (of the Runner of a Session that is shared), environment, build with the object; ready with {} when nothing is missed any more. " +
			"A session in the phase deleted is gone. An API token hears of what its scopes open",
		kind: "text/event-stream", answer: types(claudehub.Session{}, claudehub.Runner{}, claudehub.Prompt{}, claudehub.Suggestion{}, fleet.Presence{}, fleet.RunnerLink{}, claudehub.Environment{}, claudehub.Build{}),
	},
	"build-log": {
		params: []string{"id"}, status: "200", says: "Events log, with an id that is the offset after it; end with {} when the build is over and all is sent",
		kind: "text/event-stream", answer: types(LogPart{}),
	},
	"build-log-text": {params: []string{"id"}, status: "200", says: "The log", kind: "text/plain"},
	"begin-sign-in":  {query: []string{"next"}, status: "302", says: "To GitHub; or to /sign-in?problem=CODE"},
	"finish-sign-in": {query: []string{"code", "state", "error"}, status: "302", says: "To a page of this Hub, signed in; or to /sign-in?problem=CODE"},
	"audit-export": {
		query: []string{"actor", "action", "target", "from", "to", "before"}, status: "200", says: "One AuditEntry a line, the oldest first",
		kind: "application/jsonl", answer: types(claudehub.AuditEntry{}),
	},
	"runner-token": {
		status: "200", says: "The next token. The one that asked is good until the next one is first used", kind: "application/json", answer: types(wire.NewToken{}),
	},
	"runner-stream": {
		status: "200", says: "Events named as in the Runner protocol",
		kind: "text/event-stream", answer: types(wire.Snapshot{}, wire.DesiredSession{}, wire.DesiredMachine{}, wire.Input{}, wire.Resize{}, wire.Attach{}, wire.Detach{}, wire.Superseded{}),
	},
	"runner-status": {
		bodyKind: "application/json", body: types(wire.Status{}), status: "200", says: "Taken",
		kind: "application/json", answer: types(wire.StatusReply{}),
	},
	"runner-events": {
		bodyKind: "application/json", body: types(wire.Events{}), status: "200", says: "Stored",
		kind: "application/json", answer: types(wire.EventsReply{}),
	},
	"runner-screen": {
		params: []string{"id"}, bodyKind: "application/octet-stream", status: "204", says: "Handed on",
	},
	"runner-variables": {
		params: []string{"id"}, status: "200", says: "The Variables, values included", kind: "application/json", answer: types(wire.Variables{}),
	},
	"runner-build-variables": {
		params: []string{"id"}, status: "200", says: "The Variables, values included", kind: "application/json", answer: types(wire.Variables{}),
	},
	"runner-build-log": {
		params: []string{"id"}, bodyKind: "application/octet-stream", status: "200", says: "How much of the log is here: go on from there",
		kind: "application/json", answer: types(wire.LogReply{}),
	},
}

func (t *table) document() ([]byte, error) {
	b, err := json.MarshalIndent(t.api.OpenAPI(), "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func openAPIRoute(doc []byte) route {
	return route{endpoint: get("/openapi.json", "openapi", "This document"), who: anyone,
		handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/openapi+json")
			_, _ = w.Write(doc)
		})}
}
