package web

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"claude-hub/internal/claudehub"
)

// table collects the routes with their principals. It is the mux that huma registers at, so that what huma serves stands
// in it too.
type table struct {
	routes []route
	api    huma.API
	next   *route // what adding has announced and HandleFunc completes
}

func newTable(version string) *table {
	t := &table{}
	t.api = huma.NewAPI(huma.Config{
		OpenAPI:       describeAPI(version),
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}, humago.NewAdapter(t, ""))
	return t
}

func (t *table) adding(who principal, scope claudehub.Scope, e endpoint) {
	if who == nobody {
		panic("web: a route needs a principal: " + e.Method + " " + e.Path)
	}
	if who != person && scope != browser {
		panic("web: a scope is for people: " + e.Method + " " + e.Path)
	}
	t.next = &route{endpoint: e, who: who, scope: scope}
}

// HandleFunc is huma's way to register. Nothing gets in that adding did not announce.
func (t *table) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	if t.next == nil || t.next.pattern() != pattern {
		panic("web: a route without a principal: " + pattern)
	}
	rt := *t.next
	rt.handler = http.HandlerFunc(h)
	t.next = nil
	t.routes = append(t.routes, rt)
}

// ServeHTTP is never called: requests come through the mux of server.handler.
func (t *table) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

func (t *table) raw(who principal, scope claudehub.Scope, e endpoint, h func(http.ResponseWriter, *http.Request) error) {
	t.describe(who, scope, &e)
	t.adding(who, scope, e)
	t.api.OpenAPI().AddOperation(&e.Operation)
	t.HandleFunc(t.next.pattern(), func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			writeError(w, r, err)
		}
	})
}
