package claudehub

import "time"

// ActorKind says what kind of caller did something.
type ActorKind string

// The kinds of actor.
const (
	ActorPerson ActorKind = "person"
	ActorRunner ActorKind = "runner"
	ActorSystem ActorKind = "system" // the Hub itself, or its operator beside it
	ActorNobody ActorKind = "nobody" // no credential, or none that is good
)

// Outcome says what became of what somebody tried.
type Outcome string

// The outcomes.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeRefused Outcome = "refused"
)

// AuditEntry is one line of the audit log. The log only grows, and each Hash covers the line and the Hash before it, so
// that a changed or a missing line shows. No line holds a secret.
type AuditEntry struct {
	Seq     int64             `json:"seq" doc:"1, 2, 3 …"`
	At      time.Time         `json:"at"`
	Kind    ActorKind         `json:"actor_kind" enum:"person,runner,system,nobody"`
	Actor   string            `json:"actor,omitempty" doc:"the id of the person or Runner"`
	Login   string            `json:"login,omitempty" doc:"the person's login at that time"`
	Action  string            `json:"action" doc:"what was done, such as session.share"`
	Target  string            `json:"target,omitempty" doc:"the id of what it was done to"`
	Address string            `json:"address,omitempty" doc:"where it came from"`
	Outcome Outcome           `json:"outcome" enum:"ok,refused"`
	Detail  map[string]string `json:"detail,omitempty"`
	Prev    string            `json:"prev" doc:"the hash of the line before"`
	Hash    string            `json:"hash"`
}
