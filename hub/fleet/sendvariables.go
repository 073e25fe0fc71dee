package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// SessionVariables are what the processes of a Session get, values included. Only its own Runner is answered, and only
// for a Session that shall be awake: it asks when the Session starts.
func (f *Fleet) SessionVariables(ctx context.Context, r claudehub.RunnerID, id claudehub.SessionID) (wire.Variables, error) {
	var out wire.Variables
	err := f.st.View(ctx, func(q store.Q) error {
		s, err := q.Session(ctx, id)
		if err == nil {
			err = runs(r, s)
		}
		if err != nil {
			return absent(err, errNoSession)
		}
		if s.Desired != claudehub.WantAwake {
			return claudehub.Errorf(claudehub.Conflict, "This Session shall not be awake, and gets no Variables.")
		}
		out, err = f.openAll(ctx, q, s.Creator, targetsOf(s))
		return err
	})
	if err == nil {
		f.log.Info("the Variables of a Session were sent to its Runner", "runner", r, "session", id, "variables", len(out.Items), "revision", out.Revision)
	}
	return out, err
}

// BuildVariables are what the setup script of a build gets: the Environment's. Only the build's own Runner is answered,
// and only while it builds.
func (f *Fleet) BuildVariables(ctx context.Context, r claudehub.RunnerID, id claudehub.BuildID) (wire.Variables, error) {
	var out wire.Variables
	err := f.st.View(ctx, func(q store.Q) error {
		b, err := runnersBuild(ctx, q.Build, r, id)
		if err != nil {
			return err
		}
		if b.State.Final() {
			return claudehub.Errorf(claudehub.Conflict, "This build is over, and gets no Variables.")
		}
		out, err = f.openAll(ctx, q, b.By, []target{{store.ScopeEnvironment, string(b.Environment)}})
		return err
	})
	if err == nil {
		f.log.Info("the Variables of a build were sent to its Runner", "runner", r, "build", id, "variables", len(out.Items), "revision", out.Revision)
	}
	return out, err
}

// targetsOf are what a Session's Variables come from, the stronger last.
func targetsOf(s store.Session) []target {
	var out []target
	if s.Environment != nil {
		out = append(out, target{store.ScopeEnvironment, string(s.Environment.ID)})
	}
	if repo := claudehub.RepoOf(s.Source); repo != "" {
		out = append(out, target{store.ScopeRepo, repo})
	}
	return out
}

// openAll decrypts what applies: of two with one name, the later target's.
func (f *Fleet) openAll(ctx context.Context, q store.Q, owner claudehub.PersonID, targets []target) (wire.Variables, error) {
	applies := map[string]store.Variable{}
	for _, t := range targets {
		all, err := q.Variables(ctx, owner, t.scope, t.name)
		if err != nil {
			return wire.Variables{}, err
		}
		for _, v := range all {
			applies[v.Name] = v
		}
	}
	out := wire.Variables{Items: make([]wire.Variable, 0, len(applies))}
	revisions := map[string]string{}
	for _, name := range sortedKeys(applies) {
		value, err := f.open(applies[name])
		if err != nil {
			return wire.Variables{}, err
		}
		out.Items = append(out.Items, wire.Variable{Name: name, Value: value, Secret: applies[name].Secret})
		revisions[name] = applies[name].Revision
	}
	out.Revision = revisionOf(revisions)
	return out, nil
}

// revisionOf names a state of Variables: another one for any change of what applies, and "" for none.
func revisionOf(revisions map[string]string) string {
	if len(revisions) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range sortedKeys(revisions) {
		h.Write([]byte(name + "=" + revisions[name] + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// marks are the states of the Variables of several Sessions, looked up together.
type marks map[target]map[string]string // to name and revision

func marksOf(ctx context.Context, q store.Q, sessions []store.Session) (map[claudehub.PersonID]marks, error) {
	names := map[claudehub.PersonID]map[string]bool{}
	for _, s := range sessions {
		for _, t := range targetsOf(s) {
			if names[s.Creator] == nil {
				names[s.Creator] = map[string]bool{}
			}
			names[s.Creator][t.name] = true
		}
	}
	out := map[claudehub.PersonID]marks{}
	for owner, targets := range names {
		all, err := q.VariableMarks(ctx, owner, sortedKeys(targets))
		if err != nil {
			return nil, err
		}
		out[owner] = marks{}
		for _, m := range all {
			t := target{m.Scope, m.Target}
			if out[owner][t] == nil {
				out[owner][t] = map[string]string{}
			}
			out[owner][t][m.Name] = m.Revision
		}
	}
	return out, nil
}

// of is the revision of a Session's Variables.
func (m marks) of(s store.Session) string {
	applies := map[string]string{}
	for _, t := range targetsOf(s) {
		maps.Copy(applies, m[t])
	}
	return revisionOf(applies)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// runnersBuild finds a build of a Runner's own.
func runnersBuild(ctx context.Context, find func(context.Context, claudehub.BuildID) (store.Build, error), r claudehub.RunnerID, id claudehub.BuildID) (store.Build, error) {
	b, err := find(ctx, id)
	switch {
	case err != nil:
		return store.Build{}, absent(err, errNoBuild)
	case r == "" || b.Runner != r:
		return store.Build{}, errNoBuild
	}
	return b, nil
}
