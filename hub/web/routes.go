package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// register is the one table of all routes. What a route serves is the word it is registered with; the handler of each
// takes that principal as an argument, so that one cannot be put under another word.
func (s *server) register(t *table) {
	public(t, get("/healthz", "health", "Whether the Hub answers"), s.health)
	public(t, get("/api/hub", "hub", "What this Hub is and offers"), s.hubInfo)
	public(t, post("/api/sign-in", "sign-in", "Redeem a one-time link"), s.signIn)

	forPerson(t, get("/api/me", "me", "Who is signed in"), s.me)
	forPerson(t, post("/api/sign-out", "sign-out", "End this browser's sign-in"), s.signOut)
	forPerson(t, get("/api/sign-ins", "list-sign-ins", "All browsers that are signed in"), s.signIns)
	forPerson(t, remove("/api/sign-ins/{id}", "revoke-sign-in", "Sign a browser out"), s.revokeSignIn)

	forPerson(t, get("/api/sessions", "list-sessions", "The Sessions this person may see"), s.listSessions)
	forPerson(t, sized(created(post("/api/sessions", "create-session", "Make a Session")), promptLimit), s.createSession)
	forPerson(t, get("/api/sessions/{id}", "get-session", "One Session"), s.getSession)
	forPerson(t, patch("/api/sessions/{id}", "update-session", "Change title, model, effort or Environment"), s.updateSession)
	forPerson(t, remove("/api/sessions/{id}", "delete-session", "End an archived Session for good"), s.action(s.fleet.Delete))
	forPerson(t, act("sleep", "Stop the Sandbox and keep everything"), s.action(s.fleet.Sleep))
	forPerson(t, act("wake", "Start the Sandbox and resume the conversation"), s.action(s.fleet.Wake))
	forPerson(t, act("archive", "Put away; everything is kept"), s.action(s.fleet.Archive))
	forPerson(t, act("unarchive", "Take back, asleep"), s.action(s.fleet.Unarchive))
	forPerson(t, act("retry", "Try what failed again"), s.action(s.fleet.Retry))
	forPerson(t, act("cancel", "Give up the step that runs"), s.action(s.fleet.CancelStep))
	forPerson(t, act("stop", "Interrupt Claude's Turn and drop queued prompts"), s.action(s.fleet.Stop))
	forPerson(t, act("new-conversation", "Start anew after a lost transcript"), s.action(s.fleet.NewConversation))
	forPerson(t, get("/api/sessions/{id}/prompts", "list-prompts", "The newest 200 prompts, oldest first"), s.listPrompts)
	forPerson(t, sized(created(post("/api/sessions/{id}/prompts", "add-prompt", "Queue a prompt")), promptLimit), s.addPrompt)
	forPerson(t, post("/api/sessions/{id}/prompts/{prompt}/cancel", "cancel-prompt", "Take a prompt back"), s.cancelPrompt)
	forPerson(t, get("/api/sessions/{id}/history", "history", "Turns and notices, newest 200"), s.history)
	rawPerson(t, stream(get("/api/sessions/{id}/terminal", "terminal", "The terminal's WebSocket, subprotocol "+terminalProtocol)), s.terminal)

	forPerson(t, post("/api/sessions/{id}/ports", "forward-port", "Make a port of the Sandbox reachable on the Runner's machine"), s.forward)
	forPerson(t, remove("/api/sessions/{id}/ports/{port}", "unforward-port", "Take a forwarded port back"), s.unforward)

	forPerson(t, get("/api/environments", "list-environments", "A person's Environments by name"), s.listEnvironments)
	forPerson(t, sized(created(post("/api/environments", "create-environment", "Make an Environment")), recipeLimit), s.createEnvironment)
	forPerson(t, sized(post("/api/environments/seed", "seed-environment", "A first recipe out of a devcontainer"), seedLimit), s.seedEnvironment)
	forPerson(t, get("/api/seeds", "list-seeds", "Devcontainers that Runners found"), s.listSeeds)
	forPerson(t, get("/api/environments/{id}", "get-environment", "One Environment"), s.getEnvironment)
	forPerson(t, sized(patch("/api/environments/{id}", "update-environment", "Change name or recipe; a changed recipe makes a new version"), recipeLimit), s.updateEnvironment)
	forPerson(t, post("/api/environments/{id}/archive", "archive-environment", "Put away; Sessions keep their version"), s.archiveEnvironment)
	forPerson(t, post("/api/environments/{id}/unarchive", "unarchive-environment", "Take back"), s.unarchiveEnvironment)
	forPerson(t, get("/api/environments/{id}/versions", "list-versions", "The recipes as they were saved, newest first"), s.listVersions)
	forPerson(t, get("/api/environments/{id}/builds", "list-builds", "The newest 50 builds, newest first"), s.listBuilds)
	forPerson(t, created(post("/api/environments/{id}/builds", "create-build", "Build on a Runner; an open build of the same recipe is shared")), s.createBuild)
	forPerson(t, get("/api/builds/{id}", "get-build", "One build"), s.getBuild)
	forPerson(t, post("/api/builds/{id}/cancel", "cancel-build", "Give a build up"), s.cancelBuild)
	forPerson(t, created(post("/api/builds/{id}/look", "look-inside", "A terminal in the Sandbox that a failed build left")), s.lookInside)
	rawPerson(t, stream(get("/api/builds/{id}/log", "build-log", "A build's log as it grows, Server-Sent Events; from=N or Last-Event-ID resumes")), s.buildLog)
	rawPerson(t, get("/api/builds/{id}/log.txt", "build-log-text", "A build's log, whole"), s.buildLogText)

	forPerson(t, get("/api/environments/{id}/variables", "list-variables", "An Environment's Variables, without secret values"), s.listVariables)
	forPerson(t, sized(put("/api/environments/{id}/variables/{name}", "set-variable", "Store a Variable of an Environment"), variableLimit), s.setVariable)
	forPerson(t, remove("/api/environments/{id}/variables/{name}", "delete-variable", "Remove a Variable of an Environment"), s.deleteVariable)
	forPerson(t, get("/api/repo-variables/repos", "list-repos", "Repositories of this person's Sessions and Variables"), s.listRepos)
	forPerson(t, get("/api/repo-variables", "list-repo-variables", "A repository's Variables, without secret values"), s.listRepoVariables)
	forPerson(t, sized(put("/api/repo-variables/{name}", "set-repo-variable", "Store a Variable of a repository"), variableLimit), s.setRepoVariable)
	forPerson(t, remove("/api/repo-variables/{name}", "delete-repo-variable", "Remove a Variable of a repository"), s.deleteRepoVariable)

	forPerson(t, get("/api/runners", "list-runners", "The Runners this person may see"), s.listRunners)
	forPerson(t, patch("/api/runners/{id}", "rename-runner", "Give a Runner another name"), s.renameRunner)
	forPerson(t, post("/api/runners/{id}/reclaim", "reclaim", "Remove from a Runner's disk what nothing uses"), s.reclaim)
	rawPerson(t, stream(get("/api/events", "events", "Changes as they happen, Server-Sent Events")), s.events)

	rawRunner(t, stream(get(wire.StreamPath, "runner-stream", "Desired state and ephemeral events, Server-Sent Events")), s.runnerStream)
	rawRunner(t, sized(post(wire.StatusPath, "runner-status", "What the Runner observes"), statusLimit), s.runnerStatus)
	rawRunner(t, sized(post(wire.EventsPath, "runner-events", "A batch of the Runner's outbox"), eventsLimit), s.runnerEvents)
	rawRunner(t, sized(post(wire.ScreenPath, "runner-screen", "Frames of a terminal"), screenLimit), s.runnerScreen)
	rawRunner(t, get(wire.VariablesPath, "runner-variables", "A Session's Variables, when it starts"), s.runnerVariables)
	rawRunner(t, get(wire.BuildVariablesPath, "runner-build-variables", "A build's Variables, when it begins"), s.runnerBuildVariables)
	rawRunner(t, sized(post(wire.BuildLogPath, "runner-build-log", "Bytes of a build's log from offset=N on"), wire.MaxLogChunk), s.runnerBuildLog)
}

// route is one line of the table as it is served.
type route struct {
	method, path string
	who          principal
	limit        int64 // of the body, in bytes
	stream       bool  // lives until an end hangs up
	handler      http.Handler
}

func (rt route) pattern() string {
	if rt.method == "" {
		return rt.path
	}
	return rt.method + " " + rt.path
}

// endpoint is a route before it has a principal.
type endpoint struct {
	huma.Operation
	limit  int64
	stream bool
}

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

// public, forPerson and forRunner register a handler whose input and output huma reads, checks and documents; the raw
// ones, those that speak for themselves.
func public[I, O any](t *table, e endpoint, h func(context.Context, *I) (*O, error)) {
	typed(t, anyone, e, h)
}

func forPerson[I, O any](t *table, e endpoint, h func(context.Context, personCaller, *I) (*O, error)) {
	typed(t, person, e, func(ctx context.Context, in *I) (*O, error) { return h(ctx, personFrom(ctx), in) })
}

func rawPerson(t *table, e endpoint, h func(http.ResponseWriter, *http.Request, personCaller) error) {
	t.raw(person, e, func(w http.ResponseWriter, r *http.Request) error { return h(w, r, personFrom(r.Context())) })
}

func rawRunner(t *table, e endpoint, h func(http.ResponseWriter, *http.Request, runnerCaller) error) {
	t.raw(runnerOf, e, func(w http.ResponseWriter, r *http.Request) error { return h(w, r, runnerFrom(r.Context())) })
}

func typed[I, O any](t *table, who principal, e endpoint, h func(context.Context, *I) (*O, error)) {
	e.MaxBodyBytes, e.BodyReadTimeout = -1, -1 // guard bounds both
	t.describe(who, &e)
	t.adding(who, e)
	huma.Register(t.api, e.Operation, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, problemOf(ctx, err)
		}
		return out, nil
	})
}
