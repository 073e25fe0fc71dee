package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/store"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// waits is the patience of tests.
const waits = 15 * time.Second

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// principal is a row of the matrix: one way to come to every route.
type principal struct {
	name string
	put  func(*http.Request)

	person *relation         // whose credential it is; nil for one that opens nothing
	scopes []claudehub.Scope // of an API token
	token  bool
	runner string // own or other
	two    bool   // a cookie and a token
}

func cookieOf(value string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "claude_hub", Value: value}) }
}

func bearerOf(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+value) }
}

// want is the answer that a principal has to get on a route; 0 is the route's own.
func (p principal) want(x expectation) int {
	switch {
	case x.serve == "public":
		return fine
	case x.serve == "runner":
		if p.runner == "" {
			return http.StatusUnauthorized
		}
		if p.runner == "other" && x.absent {
			return http.StatusNotFound
		}
		return fine
	case p.two:
		return http.StatusBadRequest
	case p.person == nil:
		return http.StatusUnauthorized
	case p.token && (x.scope == claudehub.ScopeNone || !slices.Contains(p.scopes, x.scope)):
		return http.StatusForbidden
	}
	return x.to[*p.person]
}

// principals are all rows. Those of mods and Sandboxes are here before their routes are.
func (e *estate) principals() []principal {
	out := []principal{{name: "no credential", put: func(*http.Request) {}}}
	bad := func(name string, put func(*http.Request)) { out = append(out, principal{name: name, put: put}) }
	for name, value := range map[string]string{"empty": "", "malformed": "chb_what", "too long": strings.Repeat("x", 9000)} {
		bad("cookie, "+name, cookieOf(value))
		bad("bearer, "+name, bearerOf(value))
	}
	for _, kind := range claudehub.TokenKinds {
		bad("cookie, unknown "+string(kind), cookieOf(claudehub.NewToken(kind).Reveal()))
		bad("bearer, unknown "+string(kind), bearerOf(claudehub.NewToken(kind).Reveal()))
	}
	good := e.who[creator].Cookie.Value
	bad("cookie, its checksum wrong", cookieOf(good[:len(good)-1]+"~"))
	bad("cookie, expired", cookieOf(e.oldCookie()))
	bad("cookie, signed out", cookieOf(e.endedCookie()))
	bad("cookie of another Hub", cookieOf(e.cookieOfAnotherHub()))
	bad("cookie as bearer", bearerOf(good))
	bad("other scheme", func(r *http.Request) { r.SetBasicAuth("creator", good) })
	th := e.fresh(creator, web.RouteInfo{})
	for name, value := range map[string]string{"sign-in link": th.signInLink, "device code": th.deviceCode, "join link": th.join, "Runner's token": e.runner.Token.Reveal()} {
		bad(name+" as cookie", cookieOf(value))
		if name != "Runner's token" {
			bad(name+" as bearer", bearerOf(value))
		}
	}
	bad("API token as cookie", cookieOf(e.apiToken(creator, time.Time{}, claudehub.Scopes...)))
	bad("API token, expired", bearerOf(e.apiToken(creator, time.Now().Add(-time.Minute), claudehub.Scopes...)))
	bad("API token, revoked", bearerOf(e.revokedToken()))
	bad("revoked Runner", bearerOf(e.revokedRunner()))

	for r, name := range map[relation]string{stranger: "member, nobody to it", participant: "Participant", creator: "Creator", adminOf: "admin"} {
		out = append(out, principal{name: name, put: cookieOf(e.who[r].Cookie.Value), person: &r})
		out = append(out, principal{name: name + ", API token with all scopes", put: bearerOf(e.apiToken(r, time.Time{}, claudehub.Scopes...)),
			person: &r, token: true, scopes: claudehub.Scopes})
	}
	mine, both := creator, e.apiToken(creator, time.Time{}, claudehub.Scopes...)
	for _, scope := range claudehub.Scopes {
		out = append(out, principal{name: "Creator, API token with " + string(scope), put: bearerOf(e.apiToken(creator, time.Time{}, scope)),
			person: &mine, token: true, scopes: []claudehub.Scope{scope}})
	}
	out = append(out,
		principal{name: "a cookie and a token at once", two: true, put: func(r *http.Request) {
			cookieOf(good)(r)
			bearerOf(both)(r)
		}},
		principal{name: "own Runner", runner: "own", put: asRunner(e.runner)},
		principal{name: "other Runner", runner: "other", put: asRunner(e.other)},
	)
	slices.SortStableFunc(out, func(a, b principal) int { return strings.Compare(a.group(), b.group()) })
	return out
}

// group orders the rows: what opens nothing first.
func (p principal) group() string {
	switch {
	case p.runner != "":
		return "3" + p.name
	case p.person != nil || p.two:
		return "2" + p.name
	}
	return "1" + p.name
}

func asRunner(of *runnertest.Runner) func(*http.Request) {
	return func(r *http.Request) {
		bearerOf(of.Token.Reveal())(r)
		r.Header.Set(wire.ProtocolHeader, "3")
		r.Header.Set(wire.InstanceHeader, of.Instance)
	}
}

func (e *estate) apiToken(of relation, expires time.Time, scopes ...claudehub.Scope) string {
	e.t.Helper()
	token := claudehub.NewToken(claudehub.APITokenKind)
	e.write(func(ctx context.Context, q store.Q) error {
		return q.AddAPIToken(ctx, store.APIToken{Person: e.who[of].Person.ID, Hash: token.Hash(),
			APIToken: claudehub.APIToken{ID: "tok_" + claudehub.NewNonce(), Name: "t", Scopes: scopes, Created: time.Now(), Expires: expires}})
	})
	return token.Reveal()
}

func (e *estate) revokedToken() string {
	e.t.Helper()
	made, token, err := e.Fleet.CreateAPIToken(e.t.Context(), e.who[creator].Person.ID, "revoked", claudehub.Scopes, time.Time{})
	e.must(err)
	e.must(e.Fleet.RevokeAPIToken(e.t.Context(), e.who[creator].Person.ID, made.ID))
	return token.Reveal()
}

func (e *estate) revokedRunner() string {
	e.t.Helper()
	r := e.Runner(e.who[creator].Person, "revoked")
	e.must(e.Fleet.RevokeRunner(e.t.Context(), e.who[creator].Person, r.ID))
	return r.Token.Reveal()
}

func (e *estate) cookieOfAnotherHub() string {
	e.t.Helper()
	another := runnertest.NewHub(e.t, nil)
	return another.SignIn(another.Person("creator")).Cookie.Value
}

func (e *estate) oldCookie() string {
	e.t.Helper()
	cookie := claudehub.NewToken(claudehub.BrowserToken)
	long := time.Now().Add(-31 * 24 * time.Hour)
	e.write(func(ctx context.Context, q store.Q) error {
		return q.AddSignIn(ctx, store.SignIn{ID: "sig_" + claudehub.NewNonce(), Hash: cookie.Hash(), Person: e.who[creator].Person.ID, Created: long, LastUsed: long})
	})
	return cookie.Reveal()
}

func (e *estate) endedCookie() string {
	b := e.SignIn(e.who[creator].Person)
	if a := b.Do(http.MethodPost, "/api/sign-out", nil); a.Status != http.StatusNoContent {
		e.t.Fatalf("sign out: %d", a.Status)
	}
	return b.Cookie.Value
}

// reply is what can be compared of an answer.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

func (e *estate) ask(req *http.Request, rt web.RouteInfo) reply {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), waits)
	defer cancel()
	res, err := e.client.RoundTrip(req.WithContext(ctx)) // following nothing
	if err != nil {
		e.t.Fatalf("%s %s: %v", rt.Method, rt.Path, err)
	}
	defer res.Body.Close()
	out := reply{Status: res.StatusCode, Header: res.Header.Clone()}
	for _, each := range []string{"X-Request-Id", "Date"} {
		out.Header.Del(each)
	}
	if res.StatusCode == http.StatusSwitchingProtocols || rt.Stream && res.StatusCode == http.StatusOK {
		return out
	}
	b, err := io.ReadAll(res.Body)
	e.must(err)
	out.Body = string(b)
	return out
}

// TestAuthz is every route of the table with every kind of principal. make authz prints it.
func TestAuthz(t *testing.T) {
	e := newEstate(t)
	rows, routes := e.principals(), web.Routes()
	e.checkTable(routes)
	m := newMatrix(rows, routes)
	before := e.view()
	for _, rt := range routes {
		x := expectations[rt.Method+" "+rt.Path]
		refused := map[string]reply{}
		for _, p := range rows {
			if want := p.want(x); want != fine {
				m.set(rt, p, e.refused(rt, x, p, want, refused))
			}
		}
	}
	if diff := cmp.Diff(before, e.view()); diff != "" {
		t.Errorf("what was refused was done all the same:\n%s", diff)
	}
	for _, rt := range routes {
		x := expectations[rt.Method+" "+rt.Path]
		for _, p := range rows {
			if p.want(x) == fine {
				m.set(rt, p, e.served(rt, x, p))
			}
		}
	}
	t.Logf("\n%s", m)
}

// checkTable holds the table to the expectations, and the other way around.
func (e *estate) checkTable(routes []web.RouteInfo) {
	e.t.Helper()
	seen := map[string]bool{}
	for _, rt := range routes {
		name := rt.Method + " " + rt.Path
		seen[name] = true
		x, ok := expectations[name]
		if !ok {
			e.t.Fatalf("%s has no expectation: say in authz_expect_test.go for whom it is", name)
		}
		if x.serve != rt.Principal || x.scope != rt.Scope {
			e.t.Errorf("%s serves %s with the scope %q; expected are %s and %q", name, rt.Principal, rt.Scope, x.serve, x.scope)
		}
	}
	for name := range expectations {
		if !seen[name] {
			e.t.Errorf("%s is expected, and not in the table", name)
		}
	}
}

// refused is one cell that must not be let in: on the real thing and, where that must not show, on one that is not there.
func (e *estate) refused(rt web.RouteInfo, x expectation, p principal, want int, others map[string]reply) int {
	e.t.Helper()
	req := e.request(rt, e.everyones, e.runner.ID, p.put)
	got := e.ask(req, rt)
	if got.Status != want {
		e.t.Errorf("%s %s with %s: %d instead of %d: %s", rt.Method, rt.Path, p.name, got.Status, want, got.Body)
	}
	if want == http.StatusUnauthorized {
		// One answer for all that open nothing, by what they come as.
		kind := fmt.Sprint(strings.HasPrefix(req.Header.Get("Authorization"), "Bearer"))
		if first, ok := others[kind]; !ok {
			others[kind] = got
		} else if diff := cmp.Diff(first, got); diff != "" {
			e.t.Errorf("%s %s tells %s apart: %s", rt.Method, rt.Path, p.name, diff)
		}
	}
	if !x.absent && x.serve != "admin" {
		return got.Status
	}
	if p.person != nil && want == x.to[*p.person] && want != http.StatusNotFound {
		return got.Status // who may see the thing is told why they may not
	}
	none := absent()
	runner := e.runner.ID
	if rt.ID == "create-session" {
		runner = none.runner
	}
	if diff := cmp.Diff(got, e.ask(e.request(rt, none, runner, p.put), rt)); diff != "" {
		e.t.Errorf("%s %s with %s tells what is there from what is not: %s", rt.Method, rt.Path, p.name, diff)
	}
	if x.serve == "admin" && want == http.StatusNotFound {
		nowhere := web.RouteInfo{Method: rt.Method, Path: "/api/nothing", ID: rt.ID}
		if diff := cmp.Diff(got, e.ask(e.request(nowhere, none, runner, p.put), nowhere)); diff != "" {
			e.t.Errorf("%s %s with %s is told from an address that has nothing: %s", rt.Method, rt.Path, p.name, diff)
		}
	}
	return got.Status
}

// served is one cell that must be let in; the route then does what it is for, to things of this cell alone.
func (e *estate) served(rt web.RouteInfo, x expectation, p principal) int {
	e.t.Helper()
	of := creator
	if p.person != nil {
		of = *p.person
	}
	th := e.fresh(of, rt)
	put := p.put
	if rt.ID == "revoke-token" {
		th.token = e.spareToken(e.who[of].Person)
	}
	if strings.Contains(rt.Path, "/builds/{id}") {
		th.build = e.spareBuild(e.everyones.environment)
	}
	if strings.Contains(rt.Path, "/environments/{id}") {
		th.environment = e.spareEnvironment()
	}
	if rt.ID == "sign-out" { // with a credential that may end here
		put = cookieOf(e.SignIn(e.who[of].Person).Cookie.Value)
		if p.token {
			put = bearerOf(e.apiToken(of, time.Time{}, p.scopes...))
		}
	}
	e.prepare(rt, of, &th)
	got := e.ask(e.request(rt, th, e.runner.ID, put), rt)
	if got.Status != x.ok {
		e.t.Errorf("%s %s with %s: %d instead of %d: %s", rt.Method, rt.Path, p.name, got.Status, x.ok, got.Body)
	}
	return got.Status
}

// prepare brings things into the state that a route needs.
func (e *estate) prepare(rt web.RouteInfo, of relation, th *things) {
	e.t.Helper()
	ctx, me := e.t.Context(), e.who[creator].Person.ID
	var err error
	switch rt.ID {
	case "delete-session", "unarchive-session":
		_, err = e.Fleet.Archive(ctx, me, th.session)
	case "unarchive-environment":
		_, err = e.Fleet.ArchiveEnvironment(ctx, me, th.environment)
	case "unshare-session":
		th.person = e.who[participant].Person.ID
	}
	e.must(err)
}
