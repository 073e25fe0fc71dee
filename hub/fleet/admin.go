package fleet

import (
	"context"
	"slices"
	"strconv"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

var errNoPerson = claudehub.Errorf(claudehub.NotFound, "There is no person with that id.")

// OwnedRunner is a Runner with whose it is.
type OwnedRunner struct {
	claudehub.Runner
	By claudehub.Face `json:"by"`
}

// asAdmin runs fn in a transaction, for whom is an admin still. The admins stay so while it lasts.
func (f *Fleet) asAdmin(ctx context.Context, admin claudehub.Person, fn func(q store.Q, admins []claudehub.PersonID) error) error {
	if err := policy.Administer(admin); err != nil {
		return err
	}
	return f.st.Write(ctx, func(q store.Q) error {
		admins, err := q.LockAdmins(ctx, f.Local())
		if err != nil {
			return err
		}
		if !slices.Contains(admins, admin.ID) {
			return policy.ErrNoPage
		}
		return fn(q, admins)
	})
}

// People lists everybody whom the Hub knows, for an admin.
func (f *Fleet) People(ctx context.Context, admin claudehub.Person) ([]claudehub.Person, error) {
	if err := policy.Administer(admin); err != nil {
		return nil, err
	}
	return f.st.Read().People(ctx)
}

// SetRole makes a person an admin or a member. The last admin stays one.
func (f *Fleet) SetRole(ctx context.Context, admin claudehub.Person, id claudehub.PersonID, role claudehub.Role) (claudehub.Person, error) {
	if role != claudehub.RoleAdmin && role != claudehub.RoleMember {
		return claudehub.Person{}, claudehub.Errorf(claudehub.Invalid, "A role is %s or %s.", claudehub.RoleMember, claudehub.RoleAdmin)
	}
	ctx = asActor(ctx, admin.ID)
	var p claudehub.Person
	err := f.asAdmin(ctx, admin, func(q store.Q, admins []claudehub.PersonID) (err error) {
		if p, err = q.Person(ctx, id); err != nil {
			return absent(err, errNoPerson)
		}
		switch {
		case p.Role == role:
			return nil
		case role == claudehub.RoleMember && len(admins) == 1 && admins[0] == id:
			return claudehub.Errorf(claudehub.Conflict, "This is the last admin. Make somebody else admin first.")
		}
		if err := q.SetRole(ctx, id, role); err != nil {
			return err
		}
		p.Role = role
		return f.note(ctx, q, "person.role", string(id), map[string]string{"login": p.Login, "role": string(role)})
	})
	if err != nil {
		return claudehub.Person{}, err
	}
	f.credentialsChanged(id) // what an admin has open is theirs no more
	return p, nil
}

// SignOutPerson ends all browsers and API tokens of a person. Their Runners go on.
func (f *Fleet) SignOutPerson(ctx context.Context, admin claudehub.Person, id claudehub.PersonID) error {
	ctx = asActor(ctx, admin.ID)
	err := f.asAdmin(ctx, admin, func(q store.Q, _ []claudehub.PersonID) error {
		p, err := q.Person(ctx, id)
		if err != nil {
			return absent(err, errNoPerson)
		}
		browsers, tokens, err := q.SignOutEverywhere(ctx, id)
		if err != nil {
			return err
		}
		return f.note(ctx, q, "person.sign-out", string(id), map[string]string{"login": p.Login,
			"browsers": strconv.Itoa(browsers), "tokens": strconv.Itoa(tokens)})
	})
	if err == nil {
		f.credentialsChanged(id)
	}
	return err
}

// AllRunners lists everybody's Runners, for an admin.
func (f *Fleet) AllRunners(ctx context.Context, admin claudehub.Person) ([]OwnedRunner, error) {
	if err := policy.Administer(admin); err != nil {
		return nil, err
	}
	var out []OwnedRunner
	err := f.st.View(ctx, func(q store.Q) error {
		people, err := q.People(ctx)
		if err != nil {
			return err
		}
		faces := make(map[claudehub.PersonID]claudehub.Face, len(people))
		for _, p := range people {
			faces[p.ID] = p.Face()
		}
		all, err := q.AllRunners(ctx)
		if err != nil {
			return err
		}
		out = make([]OwnedRunner, len(all))
		for i, r := range all {
			out[i] = OwnedRunner{r.Runner, faces[r.Owner]}
		}
		return nil
	})
	return out, err
}
