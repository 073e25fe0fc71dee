package fleet

import (
	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Who may do what is decided by package policy, and asked in this file and in access.go. What a person may not even see is
// answered as if it were absent.

var (
	errNoSession = policy.ErrNoSession
	errNoRunner  = policy.ErrNoRunner
	errNoPrompt  = claudehub.Errorf(claudehub.NotFound, "There is no prompt with that id.")
	errNoBuild   = claudehub.Errorf(claudehub.NotFound, "There is no build with that id.")

	errNoEnvironment = policy.ErrNoEnvironment

	errArchived            = claudehub.Errorf(claudehub.Conflict, "This Session is archived. Take it out of the archive first.")
	errDeleting            = claudehub.Errorf(claudehub.Conflict, "This Session is being deleted; nothing else can be done with it.")
	errArchivedEnvironment = claudehub.Errorf(claudehub.Conflict, "This Environment is archived. Take it out of the archive first.")
)

// mayOwn refuses who may not see or use a Runner.
func mayOwn(p claudehub.PersonID, r claudehub.Runner) error {
	return policy.UseRunner(p, r.Owner)
}

// mayUse refuses who may not see, change or use an Environment, its Builds and its Variables.
func mayUse(p claudehub.PersonID, e claudehub.Environment) error {
	return policy.UseEnvironment(p, e.Owner)
}

// runs refuses a Runner that speaks of a Session that is not its own.
func runs(r claudehub.RunnerID, s store.Session) error {
	return policy.Serves(r, s.Runner)
}

// absent puts a sentence in place of the store's NotFound, which cannot know what was looked for.
func absent(err error, sentence *claudehub.Error) error {
	if claudehub.CodeOf(err) == claudehub.NotFound {
		return sentence
	}
	return err
}
