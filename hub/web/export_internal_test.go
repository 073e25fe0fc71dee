package web

import (
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"

	"claude-hub/internal/claudehub"
)

// RouteInfo is a line of the table, for tests.
type RouteInfo struct {
	Method, Path, ID, Principal string
	Scope                       claudehub.Scope
	Stream                      bool
}

// Routes are all lines of the table.
func Routes() []RouteInfo {
	s := &server{}
	t := newTable("")
	s.register(t)
	out := []RouteInfo{}
	for _, rt := range t.routes {
		out = append(out, RouteInfo{rt.Method, rt.Path, rt.OperationID, rt.who.String(), rt.scope, rt.stream})
	}
	return out
}

// AddressOf is where a request with these comes from.
func AddressOf(peer string, forwarded []string, trusted []netip.Prefix) string {
	return textOf(addressOf(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}}, trusted))
}

// RegisterNobody tries what must panic.
func RegisterNobody() {
	t := newTable("")
	t.raw(nobody, browser, get("/x", "x", "x"), func(http.ResponseWriter, *http.Request) error { return nil })
}

// RegisterBehind tries to get past the table.
func RegisterBehind() {
	newTable("").HandleFunc("GET /x", func(http.ResponseWriter, *http.Request) {})
}

// Panicking is a handler of one route, which panics.
func Panicking(log io.Writer) http.Handler {
	s := &server{log: slog.New(slog.NewTextHandler(log, nil)), metrics: NewMetrics(), limits: newLimits(Limits{})}
	return s.outer(s.guard(route{endpoint: get("/x", "x", "x"), who: anyone, handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}))
}

// Pages serves a front end of a test, as all pages are served.
func Pages(t *testing.T, dist fs.FS) http.Handler {
	t.Helper()
	p, err := pagesOf(dist, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{log: slog.New(slog.DiscardHandler), metrics: NewMetrics(), limits: newLimits(Limits{}), pages: p}
	return s.outer(s.guard(s.rest()))
}
