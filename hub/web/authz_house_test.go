package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// estate is a Hub with four people and what one of them, the creator, made.
type estate struct {
	*runnertest.Hub
	t   *testing.T
	who map[relation]*runnertest.Browser

	runner, other *runnertest.Runner // the creator's, and the stranger's
	everyones     things
	asked         atomic.Int64
	client        *http.Transport
}

// things are what a request can be about.
type things struct {
	session     claudehub.SessionID
	prompt      claudehub.PromptID
	environment claudehub.EnvironmentID
	build       claudehub.BuildID
	runner      claudehub.RunnerID
	token       string
	signIn      string
	suggestion  claudehub.SuggestionID
	person      claudehub.PersonID
	userCode    string
	deviceCode  string
	join        string
	signInLink  string
}

func newEstate(t *testing.T) *estate {
	e := &estate{t: t, who: map[relation]*runnertest.Browser{}, client: &http.Transport{}}
	t.Cleanup(e.client.CloseIdleConnections)
	e.Hub = runnertest.NewHub(t, nil, patient, behindProxy)
	for r, login := range map[relation]string{stranger: "stranger", participant: "participant", creator: "creator", adminOf: "admin"} {
		p := e.Person(login)
		if r == adminOf {
			e.write(func(ctx context.Context, q store.Q) error { return q.SetRole(ctx, p.ID, claudehub.RoleAdmin) })
			p.Role = claudehub.RoleAdmin
		}
		e.who[r] = e.SignIn(p)
	}
	e.runner, e.other = e.Runner(e.who[creator].Person, "creator-mac"), e.Runner(e.who[stranger].Person, "stranger-box")
	for _, r := range []*runnertest.Runner{e.runner, e.other} {
		s, err := r.Open(t.Context(), "", false)
		e.must(err)
		t.Cleanup(s.Close)
	}
	e.everyones = e.fresh(creator, web.RouteInfo{})
	e.everyones.environment = e.spareEnvironment()
	e.everyones.token, e.everyones.build = e.spareToken(e.who[creator].Person), e.spareBuild(e.everyones.environment)
	return e
}

// behindProxy lets each request of a test come from where it says.
func behindProxy(_ *fleet.Options, w *web.Options) { w.TrustedProxies = loopback }

func (e *estate) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *estate) write(fn func(context.Context, store.Q) error) {
	e.t.Helper()
	e.must(e.Store.Write(e.t.Context(), func(q store.Q) error { return fn(e.t.Context(), q) }))
}

// address is another one each time.
func (e *estate) address() string {
	n := e.asked.Add(1)
	return fmt.Sprintf("198.18.%d.%d", n>>8&0xff, n&0xff)
}

// fresh makes what a route is about; without a route, all there is. What belongs to one person (a browser, say) is of the
// person of that relation.
func (e *estate) fresh(of relation, rt web.RouteInfo) things {
	e.t.Helper()
	ctx := fleet.WithActor(e.t.Context(), fleet.Actor{Kind: claudehub.ActorNobody, Address: e.address()})
	p, me := e.who[of].Person, e.who[creator].Person.ID
	about := func(words ...string) bool {
		return rt.Path == "" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(rt.Path, w) })
	}
	th := absent()
	th.environment, th.build = e.everyones.environment, e.everyones.build
	if about("/sessions", "/suggestions", "/join") {
		e.shared(ctx, &th)
	}
	if about("/repo-variables") {
		_, err := e.Fleet.SetRepoVariable(ctx, me, "github.com/acme/api", "NAME", "value", true)
		e.must(err)
	}
	if about("/api/runners") {
		r, _, err := e.Fleet.AddRunner(ctx, me, "spare "+claudehub.NewNonce()[:8])
		e.must(err)
		th.runner = r.ID
	}
	if about("/device") {
		code, err := e.Fleet.RequestDevice(ctx, wire.DeviceRequest{Client: wire.DeviceCLI, Name: "laptop", Machine: "linux/amd64"})
		e.must(err)
		th.userCode, th.deviceCode = code.UserCode, code.DeviceCode
	}
	if about("/sign-in") {
		th.signIn, th.signInLink = e.spareSignIn(p), e.Link(p).Reveal()
	}
	if about("/people") {
		th.person = e.Person("extra-" + claudehub.NewNonce()).ID
	}
	return th
}

// shared is a Session that the participant watches, with all that can be in it.
func (e *estate) shared(ctx context.Context, th *things) {
	e.t.Helper()
	me := e.who[creator].Person.ID
	s, err := e.Fleet.CreateSession(ctx, me, fleet.NewSession{Runner: e.runner.ID})
	e.must(err)
	th.session = s.ID
	prompt, err := e.Fleet.AddPrompt(ctx, me, s.ID, "hello", "")
	e.must(err)
	th.prompt = prompt.ID
	_, err = e.Fleet.Forward(ctx, me, s.ID, claudehub.Forward{Port: 3000})
	e.must(err)
	_, err = e.Fleet.Share(ctx, me, s.ID, "participant")
	e.must(err)
	suggestion, err := e.Fleet.Suggest(ctx, e.who[participant].Person.ID, s.ID, "try this")
	e.must(err)
	th.suggestion = suggestion.ID
	join, _, err := e.Fleet.CreateLink(ctx, me, s.ID)
	e.must(err)
	th.join = join.Reveal()
}

// recipe is another one each time, so that no build is shared.
func recipe() claudehub.Recipe {
	r := claudehub.DefaultRecipe()
	r.Setup = "echo " + claudehub.NewNonce()
	return r
}

// What follows is not among fresh: there can be so many of each.

func (e *estate) spareEnvironment() claudehub.EnvironmentID {
	e.t.Helper()
	me := e.who[creator].Person.ID
	made, err := e.Fleet.CreateEnvironment(e.t.Context(), me, "tools "+claudehub.NewNonce(), recipe())
	e.must(err)
	_, err = e.Fleet.SetEnvironmentVariable(e.t.Context(), me, made.ID, "NAME", "value", true)
	e.must(err)
	return made.ID
}

func (e *estate) spareBuild(id claudehub.EnvironmentID) claudehub.BuildID {
	e.t.Helper()
	b, err := e.Fleet.CreateBuild(e.t.Context(), e.who[creator].Person.ID, fleet.NewBuild{Environment: id, Runner: e.runner.ID})
	e.must(err)
	return b.ID
}

func (e *estate) spareToken(p claudehub.Person) string {
	e.t.Helper()
	made, _, err := e.Fleet.CreateAPIToken(e.t.Context(), p.ID, "spare", []claudehub.Scope{claudehub.ScopeRead}, time.Time{})
	e.must(err)
	return made.ID
}

// spareSignIn is one more browser of a person.
func (e *estate) spareSignIn(p claudehub.Person) string {
	e.t.Helper()
	in := store.SignIn{ID: "sig_" + claudehub.NewNonce(), Hash: claudehub.NewToken(claudehub.BrowserToken).Hash(), Person: p.ID,
		UserAgent: "spare", Address: "198.18.0.1", Created: time.Now(), LastUsed: time.Now()}
	e.write(func(ctx context.Context, q store.Q) error { return q.AddSignIn(ctx, in) })
	return in.ID
}

// absent names things that are not there, in ids that could be.
func absent() things {
	return things{session: claudehub.NewSessionID(), prompt: claudehub.NewPromptID(), environment: claudehub.NewEnvironmentID(),
		build: claudehub.NewBuildID(), runner: claudehub.NewRunnerID(), token: "tok_" + claudehub.NewNonce(), signIn: "sig_" + claudehub.NewNonce(),
		suggestion: claudehub.NewSuggestionID(), person: claudehub.NewPersonID(), userCode: "BBBB-BBBB",
		deviceCode: claudehub.NewToken(claudehub.DeviceToken).Reveal(), join: claudehub.NewToken(claudehub.JoinToken).Reveal()}
}

// path puts the names of things into a route's path.
func (th things) path(rt web.RouteInfo) string {
	id := string(th.session)
	for prefix, other := range map[string]string{
		"/api/runners/": string(th.runner), "/api/sign-ins/": th.signIn, "/api/tokens/": th.token, "/api/environments/": string(th.environment),
		"/api/builds/": string(th.build), "/runner/v1/builds/": string(th.build), "/api/suggestions/": string(th.suggestion),
		"/api/admin/people/": string(th.person),
	} {
		if strings.HasPrefix(rt.Path, prefix) {
			id = other
		}
	}
	path := strings.NewReplacer("{id}", id, "{prompt}", string(th.prompt), "{port}", "3000", "{name}", "NAME",
		"{person}", string(th.person), "{user_code}", th.userCode).Replace(rt.Path)
	switch {
	case strings.HasPrefix(rt.Path, "/api/repo-variables") && rt.Path != "/api/repo-variables/repos":
		path += "?repo=github.com/acme/api"
	case rt.Path == wire.BuildLogPath:
		path += "?offset=0"
	case rt.Path == "/api/people":
		path += "?q=c"
	}
	return path
}

// body is one that the route takes.
func (th things) body(rt web.RouteInfo, runner claudehub.RunnerID) (kind string, body []byte) {
	var v any
	switch rt.ID {
	case "sign-in":
		v = map[string]string{"token": th.signInLink}
	case "request-device":
		v = wire.DeviceRequest{Client: wire.DeviceRunner, Name: "mac", Machine: "darwin/arm64"}
	case "poll-device":
		v = wire.DeviceTokenRequest{DeviceCode: th.deviceCode}
	case "redeem-setup":
		v = map[string]string{"code": claudehub.NewToken(claudehub.SetupToken).Reveal()}
	case "create-token":
		v = map[string]any{"name": "ci", "scopes": []string{"sessions:read"}}
	case "create-session":
		v = map[string]any{"runner": runner}
	case "update-session":
		v = map[string]string{"title": "New"}
	case "add-prompt", "make-suggestion":
		v = map[string]string{"text": "do it"}
	case "share-session":
		v = map[string]string{"login": "participant"}
	case "join-session":
		v = map[string]string{"token": th.join}
	case "forward-port":
		v = map[string]any{"port": 4000, "same": false}
	case "create-environment":
		v = map[string]any{"name": claudehub.NewNonce(), "recipe": recipe()}
	case "seed-environment":
		v = map[string]string{"json": `{"image":"debian:12"}`, "path": ".devcontainer/devcontainer.json"}
	case "update-environment":
		v = map[string]any{"base_version": 1, "name": claudehub.NewNonce()}
	case "create-build":
		v = map[string]any{"runner": runner}
	case "set-variable", "set-repo-variable":
		v = map[string]any{"value": "x", "secret": true}
	case "rename-runner":
		v = map[string]string{"name": claudehub.NewNonce()[:8]}
	case "reclaim":
		v = map[string]any{"what": []string{"image"}}
	case "role-person":
		v = map[string]string{"role": "member"}
	case "runner-status", "runner-events":
		v = struct{}{}
	case "runner-screen":
		b, err := wire.AppendFrame(nil, wire.Frame{Kind: wire.FrameSnapshot, Life: claudehub.NewNonce(), Cols: 80, Rows: 24})
		if err != nil {
			panic(err)
		}
		return "application/octet-stream", b
	case "runner-build-log":
		return "application/octet-stream", []byte("building\n")
	default:
		return "", nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return "application/json", b
}

// request is one cell's. Codes for devices are asked for from another place each time, since one place may have so many.
func (e *estate) request(rt web.RouteInfo, th things, runner claudehub.RunnerID, put func(*http.Request)) *http.Request {
	e.t.Helper()
	kind, body := th.body(rt, runner)
	req, err := http.NewRequestWithContext(e.t.Context(), rt.Method, e.URL+th.path(rt), bytes.NewReader(body))
	e.must(err)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if rt.ID == "terminal" {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
		req.Header.Set("Sec-WebSocket-Version", "13")
		req.Header.Set("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
		req.Header.Set("Sec-WebSocket-Protocol", "claude-hub.terminal.v1")
	}
	if rt.Principal == "runner" {
		req.Header.Set(wire.ProtocolHeader, "3")
		req.Header.Set(wire.InstanceHeader, e.runner.Instance)
	}
	if req.Header.Set("X-Forwarded-For", "198.18.0.1"); rt.ID == "request-device" {
		req.Header.Set("X-Forwarded-For", e.address())
	}
	put(req)
	return req
}
