package fleet

import (
	"context"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// AddRunner enrols a Runner and makes its token, which is shown this once.
func (f *Fleet) AddRunner(ctx context.Context, owner claudehub.PersonID, name string) (claudehub.Runner, claudehub.Token, error) {
	if err := claudehub.ValidTitle(name); err != nil {
		return claudehub.Runner{}, claudehub.Token{}, claudehub.Errorf(claudehub.Invalid,
			"A Runner's name is one line of 1 to %d characters.", claudehub.MaxTitle)
	}
	token, r := claudehub.NewToken(claudehub.RunnerToken), newRunner(owner, name, f.now())
	err := f.st.Write(ctx, func(q store.Q) error {
		if err := q.AddRunner(ctx, r, token.Hash()); err != nil {
			return err
		}
		return f.note(ctx, q, "runner.add", string(r.ID), map[string]string{"name": name, "owner": string(owner)})
	})
	if claudehub.CodeOf(err) == claudehub.Conflict {
		err = nameTaken(name)
	}
	if err != nil {
		return claudehub.Runner{}, claudehub.Token{}, err
	}
	f.runnerChanged(r)
	return r, token, nil
}

func newRunner(owner claudehub.PersonID, name string, now time.Time) claudehub.Runner {
	return claudehub.Runner{ID: claudehub.NewRunnerID(), Owner: owner, Name: name, Created: now,
		Link: claudehub.Link{State: claudehub.LinkDown, Since: now}, Machine: tidyMachine(claudehub.Machine{})}
}

func nameTaken(name string) error {
	return claudehub.Errorf(claudehub.Conflict,
		"There is a Runner called %q already. Choose another name, or give that Runner a new token with `claude-hub runner token`.", name)
}

// NewRunnerToken makes another token for the Runner of that name; the old one opens nothing from now on. It is for a
// machine that lost its token: its Sessions stay its own.
func (f *Fleet) NewRunnerToken(ctx context.Context, owner claudehub.PersonID, name string) (claudehub.Runner, claudehub.Token, error) {
	token := claudehub.NewToken(claudehub.RunnerToken)
	var r store.Runner
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if r, err = q.RunnerByName(ctx, owner, name); err != nil {
			return absent(err, claudehub.Errorf(claudehub.NotFound, "There is no Runner called %q.", name))
		}
		if err := q.SetRunnerToken(ctx, r.ID, token.Hash()); err != nil {
			return err
		}
		r.Revoked = time.Time{}
		return f.note(ctx, q, "runner.token", string(r.ID), map[string]string{"name": name, "owner": string(owner)})
	})
	if err != nil {
		return claudehub.Runner{}, claudehub.Token{}, err
	}
	f.tell(r.ID, Revoked, nil) // who has the old token
	return r.Runner, token, nil
}

// Runners lists a person's Runners by name.
func (f *Fleet) Runners(ctx context.Context, p claudehub.PersonID) ([]claudehub.Runner, error) {
	all, err := f.st.Read().Runners(ctx, p)
	out := make([]claudehub.Runner, len(all))
	for i, r := range all {
		out[i] = r.Runner
	}
	return out, err
}

// RenameRunner gives one of a person's Runners another name.
func (f *Fleet) RenameRunner(ctx context.Context, p claudehub.PersonID, id claudehub.RunnerID, name string) (claudehub.Runner, error) {
	if err := claudehub.ValidTitle(name); err != nil {
		return claudehub.Runner{}, claudehub.Errorf(claudehub.Invalid, "A Runner's name is one line of 1 to %d characters.", claudehub.MaxTitle)
	}
	var r store.Runner
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if r, err = q.LockRunner(ctx, id); err != nil {
			return absent(err, errNoRunner)
		}
		if err := mayOwn(p, r.Runner); err != nil {
			return err
		}
		if r.Name == name {
			return nil
		}
		was := r.Name
		r.Name = name
		if err := q.SetRunnerName(ctx, id, name); err != nil {
			return err
		}
		return f.note(asActor(ctx, p), q, "runner.rename", string(id), map[string]string{"from": was, "to": name})
	})
	if claudehub.CodeOf(err) == claudehub.Conflict {
		err = claudehub.Errorf(claudehub.Conflict, "You have a Runner called %q already. Choose another name.", name)
	}
	if err != nil {
		return claudehub.Runner{}, err
	}
	f.runnerChanged(r.Runner)
	return r.Runner, nil
}

// RunnerLink is the hop from Hub to Runner, for a terminal's state.
func (f *Fleet) RunnerLink(ctx context.Context, id claudehub.RunnerID) (claudehub.Link, error) {
	r, err := f.st.Read().Runner(ctx, id)
	return r.Link, absent(err, errNoRunner)
}
