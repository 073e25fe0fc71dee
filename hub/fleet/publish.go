package fleet

import (
	"encoding/json"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// What is published is stored before. A message that is lost is therefore only late: pages fetch again when they
// connect, and Runners' streams look at the log at each ping.

// Kinds of message on wire.ChangeSubject. The data is a changed.
const (
	changedSession = "session"
	changedRunner  = "runner"
	changedPrompt  = "prompt"

	changedEnvironment = "environment"
	changedBuild       = "build"
	changedBuildLog    = "build_log" // for those who follow the log alone; without an owner

	changedSharing    = "sharing"
	changedSuggestion = "suggestion"
	changedPresence   = "presence" // inside of one Hub: between them goes presence itself
)

// changed names what changed, and whose it is, so that others need not look.
type changed struct {
	Owner   claudehub.PersonID  `json:"owner"`
	ID      string              `json:"id"`
	Session claudehub.SessionID `json:"session,omitempty"` // of a prompt or a suggestion
	Person  claudehub.PersonID  `json:"person,omitempty"`  // whom a change of sharing concerns; empty for everyone
}

func (f *Fleet) sessionChanged(s claudehub.Session) {
	f.publish(wire.ChangeSubject, changedSession, changed{Owner: s.Creator, ID: string(s.ID)})
}

func (f *Fleet) runnerChanged(r claudehub.Runner) {
	f.publish(wire.ChangeSubject, changedRunner, changed{Owner: r.Owner, ID: string(r.ID)})
}

func (f *Fleet) environmentChanged(e claudehub.Environment) {
	f.publish(wire.ChangeSubject, changedEnvironment, changed{Owner: e.Owner, ID: string(e.ID)})
}

// buildChanged: a Build is its Environment's owner's.
func (f *Fleet) buildChanged(owner claudehub.PersonID, b claudehub.Build) {
	f.publish(wire.ChangeSubject, changedBuild, changed{Owner: owner, ID: string(b.ID)})
}

func (f *Fleet) promptChanged(owner claudehub.PersonID, p claudehub.Prompt) {
	f.publish(wire.ChangeSubject, changedPrompt, changed{Owner: owner, ID: string(p.ID), Session: p.Session})
}

// sharingChanged: a Session came to a person, or was taken from them.
func (f *Fleet) sharingChanged(s claudehub.Session, p claudehub.PersonID) {
	f.publish(wire.ChangeSubject, changedSharing, changed{Owner: s.Creator, ID: string(s.ID), Person: p})
}

func (f *Fleet) suggestionChanged(owner claudehub.PersonID, s claudehub.Suggestion) {
	f.publish(wire.ChangeSubject, changedSuggestion, changed{Owner: owner, ID: string(s.ID), Session: s.Session})
}

func (f *Fleet) nudge(id claudehub.RunnerID) { f.tell(id, Nudge, nil) }

// tell publishes to a Runner's streams what needs no answer.
func (f *Fleet) tell(id claudehub.RunnerID, kind string, v any) {
	subject, err := wire.RunnerSubject(id)
	if err != nil {
		f.log.Error("not published", "kind", kind, "err", err)
		return
	}
	f.publish(subject, kind, v)
}

func (f *Fleet) publish(subject wire.Subject, kind string, v any) {
	if err := f.send(subject, kind, v); err != nil {
		f.log.Warn("not published", "subject", subject, "kind", kind, "err", err)
	}
}

func (f *Fleet) send(subject wire.Subject, kind string, v any) error {
	var data []byte
	if v != nil {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return err
		}
	}
	return f.bus.Publish(subject, kind, data)
}
