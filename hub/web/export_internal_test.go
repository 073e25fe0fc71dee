package web

import "net/http"

// RouteInfo is a line of the table, for tests.
type RouteInfo struct {
	Method, Path, Principal string
	Stream                  bool
}

// Routes are all lines of the table.
func Routes() []RouteInfo {
	s := &server{}
	t := newTable("")
	s.register(t)
	out := []RouteInfo{}
	for _, rt := range t.routes {
		out = append(out, RouteInfo{rt.method, rt.path, rt.who.String(), rt.stream})
	}
	return out
}

// RegisterNobody tries what must panic.
func RegisterNobody() {
	t := newTable("")
	t.raw(nobody, get("/x", "x", "x"), func(http.ResponseWriter, *http.Request) error { return nil })
}

// RegisterBehind tries to get past the table.
func RegisterBehind() {
	newTable("").HandleFunc("GET /x", func(http.ResponseWriter, *http.Request) {})
}
