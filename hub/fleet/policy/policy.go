// Package policy says who may do what: all of it, and nothing else.
//
// It promises that every rule is decided here on nouns alone, without a database, a clock or a request; that what a person
// may not even see is refused with the words for what is not there; and that no role, link or scope gives the power to
// drive: only who made a Session drives it, and its Runner asks the same again (claudehub.MayDrive).
package policy

import (
	"slices"

	"claude-hub/internal/claudehub"
)

// What is absent and what is not yours are answered with the same words.
var (
	ErrNoSession     = claudehub.Errorf(claudehub.NotFound, "There is no Session with that id.")
	ErrNoRunner      = claudehub.Errorf(claudehub.NotFound, "There is no Runner with that id.")
	ErrNoEnvironment = claudehub.Errorf(claudehub.NotFound, "There is no Environment with that id.")
	ErrNoSuggestion  = claudehub.Errorf(claudehub.NotFound, "There is no suggestion with that id.")
	ErrNoPage        = claudehub.Errorf(claudehub.NotFound, "There is nothing here.")
)

// Grant is what sharing gives one person of one Session.
type Grant struct {
	Named    bool // the Creator shared it with this person, or they joined by its link
	Everyone bool // the Session is shared with everyone who can see its Repo
	Sees     bool // and GitHub says that this person can
}

// Access decides what a person has of a Session.
func Access(p, creator claudehub.PersonID, g Grant) claudehub.Access {
	switch {
	case claudehub.MayDrive(p, creator):
		return claudehub.AccessCreator
	case p != "" && (g.Named || g.Everyone && g.Sees):
		return claudehub.AccessParticipant
	}
	return claudehub.AccessNone
}

// Watch refuses who may not see a Session.
func Watch(a claudehub.Access) error {
	if a == claudehub.AccessNone {
		return ErrNoSession
	}
	return nil
}

// Drive refuses who may not type, prompt, wake, sleep, archive or change.
func Drive(a claudehub.Access) error {
	if drives(a) {
		return nil
	}
	return Own(a)
}

// Own refuses who may not share a Session, and not answer a suggestion: whoever did not make it.
func Own(a claudehub.Access) error {
	switch a {
	case claudehub.AccessCreator:
		return nil
	case claudehub.AccessParticipant:
		return claudehub.Errorf(claudehub.Forbidden, "Only the person who made this Session can do that. You can suggest a prompt.")
	}
	return ErrNoSession
}

// Suggest refuses who may not propose a prompt: the Creator prompts instead.
func Suggest(a claudehub.Access) error {
	switch a {
	case claudehub.AccessParticipant:
		return nil
	case claudehub.AccessCreator:
		return claudehub.Errorf(claudehub.Conflict, "This Session is yours: send the prompt itself.")
	}
	return ErrNoSession
}

// Withdraw refuses who did not make a suggestion.
func Withdraw(p claudehub.PersonID, s claudehub.Suggestion) error {
	if p == "" || s.Author.ID != p {
		return claudehub.Errorf(claudehub.Forbidden, "Only the person who made a suggestion can withdraw it.")
	}
	return nil
}

// UseRunner refuses who may not see a Runner, rename it, make Sessions on it, or revoke it.
func UseRunner(p, owner claudehub.PersonID) error {
	if p == "" || p != owner {
		return ErrNoRunner
	}
	return nil
}

// RevokeRunner lets an admin too.
func RevokeRunner(p claudehub.Person, owner claudehub.PersonID) error {
	if Administer(p) == nil {
		return nil
	}
	return UseRunner(p.ID, owner)
}

// UseEnvironment refuses who may not see, change or use an Environment, its Builds and its Variables.
func UseEnvironment(p, owner claudehub.PersonID) error {
	if p == "" || p != owner {
		return ErrNoEnvironment
	}
	return nil
}

// Administer refuses who is not an admin, with the words of a page that is not there.
func Administer(p claudehub.Person) error {
	if Enter(p) != nil || p.Role != claudehub.RoleAdmin {
		return ErrNoPage
	}
	return nil
}

// Enter refuses who is on the Hub no more.
func Enter(p claudehub.Person) error {
	if p.ID == "" || !p.Removed.IsZero() {
		return claudehub.Errorf(claudehub.Unauthenticated, "You are not signed in.")
	}
	return nil
}

// Scoped refuses an API token on a route that needs another scope. What no scope opens is for signed-in browsers.
func Scoped(has []claudehub.Scope, needs claudehub.Scope) error {
	switch {
	case needs == claudehub.ScopeNone:
		return claudehub.Errorf(claudehub.Forbidden, "An API token cannot do that. Do it in the browser.")
	case !slices.Contains(has, needs):
		return claudehub.Errorf(claudehub.Forbidden, "This API token lacks the scope %s. Make one that has it, in the Hub's settings.", needs)
	}
	return nil
}

// Serves refuses a Runner that speaks of a Session, or a build, which is another's.
func Serves(r, its claudehub.RunnerID) error {
	if r == "" || r != its {
		return ErrNoSession
	}
	return nil
}
