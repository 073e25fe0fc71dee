package web

import (
	"claude-hub/internal/wire"
)

// register is the one table of all routes. What a route serves is the word it is registered with; the handler of each
// takes that principal as an argument, so that one cannot be put under another word. For people, the scope that lets an
// API token in stands beside it; what says browser is for signed-in browsers alone.
func (s *server) register(t *table) {
	public(t, get("/healthz", "health", "Whether the Hub answers"), s.health)
	public(t, get("/api/hub", "hub", "What this Hub is and offers"), s.hubInfo)
	public(t, signsIn(post("/api/sign-in", "sign-in", "Redeem a one-time link")), s.signIn)

	rawPublic(t, signsIn(get("/api/auth/github/start", "begin-sign-in", "Sign in at GitHub")), s.beginSignIn)
	rawPublic(t, signsIn(get("/api/auth/github/callback", "finish-sign-in", "Where GitHub sends the browser back to")), s.finishSignIn)
	public(t, asksCode(post(wire.DeviceCodePath, "request-device", "A code for a Runner or the CLI to show (RFC 8628)")), s.requestDevice)
	public(t, takesCode(post(wire.DeviceTokenPath, "poll-device", "Whether a person has approved; refusals have the words of RFC 8628")), s.pollDevice)

	forPerson(t, browser, takesCode(post("/api/setup", "redeem-setup", "Become the first admin, by the code that the Hub printed")), s.setup)
	forPerson(t, browser, takesCode(get("/api/device/{user_code}", "get-device", "What waits for approval behind a code")), s.getDevice)
	forPerson(t, browser, takesCode(post("/api/device/{user_code}/approve", "approve-device", "Let it in, as this person's")), s.approveDevice)
	forPerson(t, browser, takesCode(post("/api/device/{user_code}/deny", "deny-device", "Send it away")), s.denyDevice)

	forPerson(t, read, get("/api/me", "me", "Who is signed in"), s.me)
	forPerson(t, read, post("/api/sign-out", "sign-out", "End the sign-in, or the API token, that asks"), s.signOut)
	forPerson(t, browser, get("/api/sign-ins", "list-sign-ins", "All browsers that are signed in"), s.signIns)
	forPerson(t, browser, remove("/api/sign-ins/{id}", "revoke-sign-in", "Sign a browser out"), s.revokeSignIn)

	forPerson(t, read, get("/api/tokens", "list-tokens", "This person's API tokens"), s.listTokens)
	forPerson(t, browser, created(post("/api/tokens", "create-token", "Make an API token; it is shown this once")), s.createToken)
	forPerson(t, drive, remove("/api/tokens/{id}", "revoke-token", "End an API token at once"), s.revokeToken)

	forPerson(t, read, get("/api/sessions", "list-sessions", "The Sessions this person may see"), s.listSessions)
	forPerson(t, drive, sized(created(post("/api/sessions", "create-session", "Make a Session")), promptLimit), s.createSession)
	forPerson(t, read, get("/api/sessions/{id}", "get-session", "One Session"), s.getSession)
	forPerson(t, drive, patch("/api/sessions/{id}", "update-session", "Change title, model, effort or Environment"), s.updateSession)
	forPerson(t, drive, remove("/api/sessions/{id}", "delete-session", "End an archived Session for good"), s.action(s.fleet.Delete))
	forPerson(t, drive, act("sleep", "Stop the Sandbox and keep everything"), s.action(s.fleet.Sleep))
	forPerson(t, drive, act("wake", "Start the Sandbox and resume the conversation"), s.action(s.fleet.Wake))
	forPerson(t, drive, act("archive", "Put away; everything is kept"), s.action(s.fleet.Archive))
	forPerson(t, drive, act("unarchive", "Take back, asleep"), s.action(s.fleet.Unarchive))
	forPerson(t, drive, act("retry", "Try what failed again"), s.action(s.fleet.Retry))
	forPerson(t, drive, act("cancel", "Give up the step that runs"), s.action(s.fleet.CancelStep))
	forPerson(t, drive, act("stop", "Interrupt Claude's Turn and drop queued prompts"), s.action(s.fleet.Stop))
	forPerson(t, drive, act("new-conversation", "Start anew after a lost transcript"), s.action(s.fleet.NewConversation))
	forPerson(t, read, get("/api/sessions/{id}/prompts", "list-prompts", "The newest 200 prompts, oldest first"), s.listPrompts)
	forPerson(t, drive, sized(created(post("/api/sessions/{id}/prompts", "add-prompt", "Queue a prompt")), promptLimit), s.addPrompt)
	forPerson(t, drive, post("/api/sessions/{id}/prompts/{prompt}/cancel", "cancel-prompt", "Take a prompt back"), s.cancelPrompt)
	forPerson(t, read, get("/api/sessions/{id}/history", "history", "Turns and notices, newest 200"), s.history)
	rawPerson(t, read, socket(get("/api/sessions/{id}/terminal", "terminal", "The terminal's WebSocket, subprotocol "+terminalProtocol)), s.terminal)

	forPerson(t, browser, post("/api/sessions/{id}/share", "share-session", "Let a person, or everyone who can see the repository, watch"), s.share)
	forPerson(t, browser, remove("/api/sessions/{id}/share/{person}", "unshare-session", "Take that back from one person"), s.unshare)
	forPerson(t, browser, created(post("/api/sessions/{id}/link", "link-session", "A link that lets its holder watch, in place of any before it")), s.createLink)
	forPerson(t, browser, remove("/api/sessions/{id}/link", "unlink-session", "End the link, and what was got by it"), s.revokeLink)
	forPerson(t, browser, takesCode(post("/api/join", "join-session", "Watch a Session by its link")), s.join)
	forPerson(t, browser, get("/api/people", "find-people", "People of this Hub, to share with"), s.findPeople)
	forPerson(t, read, get("/api/sessions/{id}/suggestions", "list-suggestions", "What Participants propose, oldest first"), s.listSuggestions)
	forPerson(t, drive, sized(created(post("/api/sessions/{id}/suggestions", "make-suggestion", "Propose a prompt")), promptLimit), s.suggest)
	forPerson(t, drive, sized(post("/api/suggestions/{id}/accept", "accept-suggestion", "Queue it, as it is or edited, as the Creator's prompt"), promptLimit), s.accept)
	forPerson(t, drive, post("/api/suggestions/{id}/decline", "decline-suggestion", "Say no, and why"), s.decline)
	forPerson(t, drive, post("/api/suggestions/{id}/withdraw", "withdraw-suggestion", "Take one's own back"), s.withdraw)

	forPerson(t, drive, post("/api/sessions/{id}/ports", "forward-port", "Make a port of the Sandbox reachable on the Runner's machine"), s.forward)
	forPerson(t, drive, remove("/api/sessions/{id}/ports/{port}", "unforward-port", "Take a forwarded port back"), s.unforward)

	forPerson(t, environments, get("/api/environments", "list-environments", "A person's Environments by name"), s.listEnvironments)
	forPerson(t, environments, sized(created(post("/api/environments", "create-environment", "Make an Environment")), recipeLimit), s.createEnvironment)
	forPerson(t, environments, sized(post("/api/environments/seed", "seed-environment", "A first recipe out of a devcontainer"), seedLimit), s.seedEnvironment)
	forPerson(t, environments, get("/api/seeds", "list-seeds", "Devcontainers that Runners found"), s.listSeeds)
	forPerson(t, environments, get("/api/environments/{id}", "get-environment", "One Environment"), s.getEnvironment)
	forPerson(t, environments, sized(patch("/api/environments/{id}", "update-environment", "Change name or recipe; a changed recipe makes a new version"), recipeLimit), s.updateEnvironment)
	forPerson(t, environments, post("/api/environments/{id}/archive", "archive-environment", "Put away; Sessions keep their version"), s.archiveEnvironment)
	forPerson(t, environments, post("/api/environments/{id}/unarchive", "unarchive-environment", "Take back"), s.unarchiveEnvironment)
	forPerson(t, environments, get("/api/environments/{id}/versions", "list-versions", "The recipes as they were saved, newest first"), s.listVersions)
	forPerson(t, environments, get("/api/environments/{id}/builds", "list-builds", "The newest 50 builds, newest first"), s.listBuilds)
	forPerson(t, environments, created(post("/api/environments/{id}/builds", "create-build", "Build on a Runner; an open build of the same recipe is shared")), s.createBuild)
	forPerson(t, environments, get("/api/builds/{id}", "get-build", "One build"), s.getBuild)
	forPerson(t, environments, post("/api/builds/{id}/cancel", "cancel-build", "Give a build up"), s.cancelBuild)
	forPerson(t, drive, created(post("/api/builds/{id}/look", "look-inside", "A terminal in the Sandbox that a failed build left")), s.lookInside)
	rawPerson(t, environments, listens(get("/api/builds/{id}/log", "build-log", "A build's log as it grows, Server-Sent Events; from=N or Last-Event-ID resumes")), s.buildLog)
	rawPerson(t, environments, get("/api/builds/{id}/log.txt", "build-log-text", "A build's log, whole"), s.buildLogText)

	forPerson(t, environments, get("/api/environments/{id}/variables", "list-variables", "An Environment's Variables, without secret values"), s.listVariables)
	forPerson(t, environments, sized(put("/api/environments/{id}/variables/{name}", "set-variable", "Store a Variable of an Environment"), variableLimit), s.setVariable)
	forPerson(t, environments, remove("/api/environments/{id}/variables/{name}", "delete-variable", "Remove a Variable of an Environment"), s.deleteVariable)
	forPerson(t, environments, get("/api/repo-variables/repos", "list-repos", "Repositories of this person's Sessions and Variables"), s.listRepos)
	forPerson(t, environments, get("/api/repo-variables", "list-repo-variables", "A repository's Variables, without secret values"), s.listRepoVariables)
	forPerson(t, environments, sized(put("/api/repo-variables/{name}", "set-repo-variable", "Store a Variable of a repository"), variableLimit), s.setRepoVariable)
	forPerson(t, environments, remove("/api/repo-variables/{name}", "delete-repo-variable", "Remove a Variable of a repository"), s.deleteRepoVariable)

	forPerson(t, runners, get("/api/runners", "list-runners", "The Runners this person may see"), s.listRunners)
	forPerson(t, runners, patch("/api/runners/{id}", "rename-runner", "Give a Runner another name"), s.renameRunner)
	forPerson(t, runners, post("/api/runners/{id}/reclaim", "reclaim", "Remove from a Runner's disk what nothing uses"), s.reclaim)
	forPerson(t, browser, remove("/api/runners/{id}", "revoke-runner", "End a Runner's token and its stream at once; its Sessions stay listed"), s.revokeRunner)
	rawPerson(t, read, listens(get("/api/events", "events", "Changes as they happen, Server-Sent Events")), s.events)

	forAdmin(t, get("/api/admin/people", "list-people", "Everyone who ever signed in"), s.allPeople)
	forAdmin(t, post("/api/admin/people/{id}/role", "role-person", "Make someone an admin, or a member"), s.setRole)
	forAdmin(t, post("/api/admin/people/{id}/sign-out", "sign-out-person", "End all of someone's browsers and API tokens"), s.signOutPerson)
	forAdmin(t, get("/api/admin/runners", "list-all-runners", "All Runners, and whose they are"), s.allRunners)
	forAdmin(t, get("/api/admin/audit", "audit", "The audit log, the newest first"), s.auditLog)
	rawAdmin(t, stream(get("/api/admin/audit.jsonl", "audit-export", "The audit log as a file")), s.exportAudit)

	rawRunner(t, stream(get(wire.StreamPath, "runner-stream", "Desired state and ephemeral events, Server-Sent Events")), s.runnerStream)
	rawRunner(t, sized(post(wire.StatusPath, "runner-status", "What the Runner observes"), statusLimit), s.runnerStatus)
	rawRunner(t, sized(post(wire.EventsPath, "runner-events", "A batch of the Runner's outbox"), eventsLimit), s.runnerEvents)
	rawRunner(t, sized(post(wire.ScreenPath, "runner-screen", "Frames of a terminal"), screenLimit), s.runnerScreen)
	rawRunner(t, post(wire.TokenPath, "runner-token", "The Runner's next token"), s.runnerToken)
	rawRunner(t, get(wire.VariablesPath, "runner-variables", "A Session's Variables, when it starts"), s.runnerVariables)
	rawRunner(t, get(wire.BuildVariablesPath, "runner-build-variables", "A build's Variables, when it begins"), s.runnerBuildVariables)
	rawRunner(t, sized(post(wire.BuildLogPath, "runner-build-log", "Bytes of a build's log from offset=N on"), wire.MaxLogChunk), s.runnerBuildLog)
}
