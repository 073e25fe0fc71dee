package web

import (
	"net/http"
	"slices"
	"strings"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// What was done, hub/fleet writes into the audit log itself. What was refused before it came there is written here.

// actorOf is who asks, as the audit log says it.
func actorOf(caller any, rec *record) fleet.Actor {
	a := fleet.Actor{Kind: claudehub.ActorNobody, Address: textOf(rec.address)}
	switch c := caller.(type) {
	case personCaller:
		a.Kind, a.ID, a.Login = claudehub.ActorPerson, string(c.ID), c.Login
	case runnerCaller:
		a.Kind, a.ID = claudehub.ActorRunner, string(c.id)
	}
	return a
}

// note writes down a refusal of who came with a credential, of who tried to get in, and of a wrong code.
func (s *server) note(r *http.Request, rt route, rec *record) {
	if rec.err == nil || rec.noted || rec.status < 300 || pending(rec.err) {
		return
	}
	switch claudehub.CodeOf(rec.err) {
	case claudehub.Unauthenticated, claudehub.Forbidden:
		if !rt.opens() && !carriesCredential(r) {
			return
		}
	case claudehub.NotFound, claudehub.Expired, claudehub.Invalid, claudehub.TooMany:
		if !rt.opens() {
			return
		}
	default:
		return
	}
	s.fleet.NoteRefusal(fleet.WithActor(r.Context(), rec.actor), rt.action(), limitText(r.PathValue("id"), maxTarget), rec.err)
}

const maxTarget = 60

// opens tells a route that turns a code or a link into something: who fails there may be guessing.
func (rt route) opens() bool { return rt.code || rt.attempts != nil }

// action is what the audit log calls what a route does: create-session is session.create.
func (rt route) action() string {
	if a, ok := actions[rt.OperationID]; ok {
		return a
	}
	id := rt.OperationID
	if i := strings.LastIndexByte(id, '-'); i > 0 && slices.Contains(nouns, id[i+1:]) {
		return id[i+1:] + "." + id[:i]
	}
	return id
}

var nouns = []string{"session", "environment", "build", "runner", "token", "device", "variable", "suggestion", "person"}

// actions are those whose route has another name.
var actions = map[string]string{
	"revoke-sign-in": "sign-in.revoke", "begin-sign-in": "sign-in", "finish-sign-in": "sign-in",
	"add-prompt": "session.prompt", "terminal": "session.attach",
	"set-repo-variable": "variable.set", "delete-repo-variable": "variable.delete",
	"reclaim": "runner.reclaim", "runner-token": "runner.token", "request-device": "device.request", "poll-device": "device.poll",
	"redeem-setup": "setup.redeem",
}
