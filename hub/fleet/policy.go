package fleet

import (
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// All of who may do what is in this file, on top of claudehub's rules. What a person may not even see is answered as if
// it were absent.

var (
	errNoSession = claudehub.Errorf(claudehub.NotFound, "There is no Session with that id.")
	errNoRunner  = claudehub.Errorf(claudehub.NotFound, "There is no Runner with that id.")
	errNoPrompt  = claudehub.Errorf(claudehub.NotFound, "There is no prompt with that id.")
	errNoBuild   = claudehub.Errorf(claudehub.NotFound, "There is no build with that id.")

	errNoEnvironment = claudehub.Errorf(claudehub.NotFound, "There is no Environment with that id.")

	errArchived            = claudehub.Errorf(claudehub.Conflict, "This Session is archived. Take it out of the archive first.")
	errDeleting            = claudehub.Errorf(claudehub.Conflict, "This Session is being deleted; nothing else can be done with it.")
	errArchivedEnvironment = claudehub.Errorf(claudehub.Conflict, "This Environment is archived. Take it out of the archive first.")
)

// mayDrive refuses who may not type, prompt, wake, sleep, archive or change.
func mayDrive(p claudehub.PersonID, s claudehub.Session) error {
	switch {
	case claudehub.MayDrive(p, s.Creator):
		return nil
	case claudehub.MayWatch(p, s):
		return claudehub.Errorf(claudehub.Forbidden, "Only the person who made this Session can do that.")
	default:
		return errNoSession
	}
}

// mayWatch refuses who may not see.
func mayWatch(p claudehub.PersonID, s claudehub.Session) error {
	if !claudehub.MayWatch(p, s) {
		return errNoSession
	}
	return nil
}

// mayOwn refuses who may not see or use a Runner.
func mayOwn(p claudehub.PersonID, r claudehub.Runner) error {
	if p == "" || r.Owner != p {
		return errNoRunner
	}
	return nil
}

// mayUse refuses who may not see, change or use an Environment, its Builds and its Variables.
func mayUse(p claudehub.PersonID, e claudehub.Environment) error {
	if p == "" || e.Owner != p {
		return errNoEnvironment
	}
	return nil
}

// runs refuses a Runner that speaks of a Session that is not its own.
func runs(r claudehub.RunnerID, s store.Session) error {
	if r == "" || s.Runner != r {
		return errNoSession
	}
	return nil
}

// absent puts a sentence in place of the store's NotFound, which cannot know what was looked for.
func absent(err error, sentence *claudehub.Error) error {
	if claudehub.CodeOf(err) == claudehub.NotFound {
		return sentence
	}
	return err
}
