package fleet

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const maxRepo = 300 // bytes of a repository's name

var errNoVariable = claudehub.Errorf(claudehub.NotFound, "There is no Variable with that name.")

// RepoVariables is a repository that a person has Sessions or Variables of.
type RepoVariables struct {
	Repo      string `json:"repo" doc:"github.com/owner/name"`
	Variables int    `json:"variables" doc:"how many it has"`
}

// target is what Variables belong to.
type target struct {
	scope store.Scope
	name  string
}

// EnvironmentVariables lists the Variables of an Environment, by name. Secret ones have no value.
func (f *Fleet) EnvironmentVariables(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID) ([]claudehub.Variable, error) {
	if _, err := f.Environment(ctx, p, id); err != nil {
		return nil, err
	}
	return f.variables(ctx, p, target{store.ScopeEnvironment, string(id)})
}

// RepoVariables lists the Variables of a repository, by name. Secret ones have no value.
func (f *Fleet) RepoVariables(ctx context.Context, p claudehub.PersonID, repo string) ([]claudehub.Variable, error) {
	repo, err := validRepo(repo)
	if err != nil {
		return nil, err
	}
	return f.variables(ctx, p, target{store.ScopeRepo, repo})
}

func (f *Fleet) variables(ctx context.Context, p claudehub.PersonID, t target) ([]claudehub.Variable, error) {
	all, err := f.st.Read().Variables(ctx, p, t.scope, t.name)
	if err != nil {
		return nil, err
	}
	out := make([]claudehub.Variable, len(all))
	for i, v := range all {
		out[i] = v.Variable
		if v.Secret {
			continue
		}
		value, err := f.open(v)
		if err != nil {
			return nil, err
		}
		out[i].Value = value
	}
	return out, nil
}

// Repos lists the repositories that a person has Sessions or Variables of.
func (f *Fleet) Repos(ctx context.Context, p claudehub.PersonID) ([]RepoVariables, error) {
	urls, err := f.st.Read().GitURLs(ctx, p)
	if err != nil {
		return nil, err
	}
	counted, err := f.st.Read().VariableRepos(ctx, p)
	if err != nil {
		return nil, err
	}
	n := map[string]int{}
	for _, u := range urls {
		n[claudehub.RepoOf(claudehub.Source{GitURL: u})] = 0
	}
	for _, c := range counted {
		n[c.Repo] = c.Variables
	}
	out := make([]RepoVariables, 0, len(n))
	for _, repo := range sortedKeys(n) {
		out = append(out, RepoVariables{repo, n[repo]})
	}
	return out, nil
}

// SetEnvironmentVariable stores a Variable of an Environment, in place of one of that name.
func (f *Fleet) SetEnvironmentVariable(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID, name, value string, isSecret bool) (claudehub.Variable, error) {
	if _, err := f.Environment(ctx, p, id); err != nil {
		return claudehub.Variable{}, err
	}
	return f.setVariable(ctx, p, target{store.ScopeEnvironment, string(id)}, name, value, isSecret)
}

// SetRepoVariable stores a Variable of a repository, in place of one of that name.
func (f *Fleet) SetRepoVariable(ctx context.Context, p claudehub.PersonID, repo, name, value string, isSecret bool) (claudehub.Variable, error) {
	repo, err := validRepo(repo)
	if err != nil {
		return claudehub.Variable{}, err
	}
	return f.setVariable(ctx, p, target{store.ScopeRepo, repo}, name, value, isSecret)
}

func (f *Fleet) setVariable(ctx context.Context, p claudehub.PersonID, t target, name, value string, isSecret bool) (claudehub.Variable, error) {
	if err := claudehub.ValidVariable(name, value); err != nil {
		return claudehub.Variable{}, err
	}
	v := store.Variable{Owner: p, Scope: t.scope, Target: t.name, Revision: claudehub.NewNonce(),
		Variable: claudehub.Variable{Name: name, Secret: isSecret, Bytes: len(value), By: p, Updated: f.now()}}
	var err error
	if v.Sealed, err = f.seal(v, value); err != nil {
		return claudehub.Variable{}, err
	}
	err = f.changeVariables(ctx, p, t, func(q store.Q) error {
		if err := roomForVariable(ctx, q, v); err != nil {
			return err
		}
		if err := q.PutVariable(ctx, v); err != nil {
			return err
		}
		return f.note(asActor(ctx, p), q, "variable.set", t.name, map[string]string{"name": name})
	})
	if err != nil {
		return claudehub.Variable{}, err
	}
	if !isSecret {
		v.Value = value
	}
	return v.Variable, nil
}

// roomForVariable counts while nobody else does.
func roomForVariable(ctx context.Context, q store.Q, v store.Variable) error {
	if err := q.LockPerson(ctx, v.Owner); err != nil {
		return err
	}
	all, err := q.Variables(ctx, v.Owner, v.Scope, v.Target)
	if err != nil {
		return err
	}
	n, total := 1, v.Bytes+len(v.Name)
	for _, o := range all {
		if o.Name != v.Name {
			n++
			total += o.Bytes + len(o.Name)
		}
	}
	switch {
	case n > claudehub.MaxVariables:
		return claudehub.Errorf(claudehub.TooMany, "There are %d Variables here, which is the most. Delete one that you do not need.", n-1)
	case total > claudehub.MaxVariableTotal:
		return claudehub.Errorf(claudehub.TooLarge, "With this one the Variables here would have %d KB together; at most %d KB fit. "+
			"Put large things into a file, in the setup script.", total>>10, claudehub.MaxVariableTotal>>10)
	}
	return nil
}

// DeleteEnvironmentVariable removes a Variable of an Environment.
func (f *Fleet) DeleteEnvironmentVariable(ctx context.Context, p claudehub.PersonID, id claudehub.EnvironmentID, name string) error {
	if _, err := f.Environment(ctx, p, id); err != nil {
		return err
	}
	return f.deleteVariable(ctx, p, target{store.ScopeEnvironment, string(id)}, name)
}

// DeleteRepoVariable removes a Variable of a repository.
func (f *Fleet) DeleteRepoVariable(ctx context.Context, p claudehub.PersonID, repo, name string) error {
	repo, err := validRepo(repo)
	if err != nil {
		return err
	}
	return f.deleteVariable(ctx, p, target{store.ScopeRepo, repo}, name)
}

func (f *Fleet) deleteVariable(ctx context.Context, p claudehub.PersonID, t target, name string) error {
	if clip(name, claudehub.MaxVariableName) != name {
		return errNoVariable
	}
	return f.changeVariables(ctx, p, t, func(q store.Q) error {
		if err := q.DeleteVariable(ctx, p, t.scope, t.name, name); err != nil {
			return absent(err, errNoVariable)
		}
		return f.note(asActor(ctx, p), q, "variable.delete", t.name, map[string]string{"name": name})
	})
}

// changeVariables changes what a target has, and tells the Runners of the Sessions that it is for. What runs is not
// changed by it.
func (f *Fleet) changeVariables(ctx context.Context, p claudehub.PersonID, t target, fn func(store.Q) error) error {
	var news touched
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if news, err = f.beginTouch(ctx, q, p); err != nil {
			return err
		}
		if err := fn(q); err != nil {
			return err
		}
		return news.sessions(ctx, q, func(s store.SessionPlace) bool {
			if t.scope == store.ScopeEnvironment {
				return string(s.Environment) == t.name
			}
			return s.GitURL != "" && claudehub.RepoOf(claudehub.Source{GitURL: s.GitURL}) == t.name
		})
	})
	if err == nil {
		f.announceTouched(news)
	}
	return err
}

// validRepo takes a repository's name as the lists have it, or an address that it is cloned from.
func validRepo(s string) (string, error) {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "://") || strings.Contains(s, "@") {
		s = claudehub.RepoOf(claudehub.Source{GitURL: s})
	}
	s = strings.ToLower(s)
	host, path, _ := strings.Cut(s, "/")
	odd := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if host == "" || path == "" || odd || len(s) > maxRepo || clip(s, maxRepo) != s {
		return "", claudehub.Errorf(claudehub.Invalid, "%q is not a repository. It looks like github.com/owner/name.", clip(s, 60))
	}
	return s, nil
}

// place binds a sealed value to its Variable.
func place(v store.Variable) secret.Place {
	return secret.Place{Owner: string(v.Owner), Scope: string(v.Scope), Target: v.Target, Name: v.Name}
}

func (f *Fleet) seal(v store.Variable, value string) ([]byte, error) {
	if f.secrets == nil {
		return nil, errNoKeyset
	}
	return f.secrets.Seal([]byte(value), place(v))
}

func (f *Fleet) open(v store.Variable) (string, error) {
	if f.secrets == nil {
		return "", errNoKeyset
	}
	value, err := f.secrets.Open(v.Sealed, place(v))
	return string(value), err
}

var errNoKeyset = claudehub.Errorf(claudehub.Unavailable, "This process has no keyset, and cannot read or write Variables.")

// Reseal seals every Variable, people's GitHub tokens and the check with the newest key of the keyset: all of them, or
// none. It tells how many Variables there are.
func (f *Fleet) Reseal(ctx context.Context) (n int, err error) {
	if f.secrets == nil {
		return 0, errNoKeyset
	}
	err = f.st.Write(ctx, func(q store.Q) error {
		all, err := q.AllVariables(ctx)
		if err != nil {
			return err
		}
		n = len(all)
		for _, v := range all {
			value, err := f.open(v)
			if err != nil {
				return err
			}
			if v.Sealed, err = f.seal(v, value); err != nil {
				return err
			}
			if err := q.SetSealed(ctx, v); err != nil {
				return err
			}
		}
		if err := f.resealTokens(ctx, q); err != nil {
			return err
		}
		check, err := f.secrets.Check()
		if err != nil {
			return err
		}
		if err := q.SetKeysetCheck(ctx, check); err != nil {
			return err
		}
		return f.note(ctx, q, "keyset.rotate", "", map[string]string{"variables": strconv.Itoa(n)})
	})
	return n, err
}
