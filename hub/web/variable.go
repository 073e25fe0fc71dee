package web

import (
	"context"
	"net/http"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

type variableOut struct{ Body claudehub.Variable }

func oneVariable(v claudehub.Variable, err error) (*variableOut, error) {
	if err != nil {
		return nil, err
	}
	return &variableOut{v}, nil
}

// NewVariable is the body of set-variable: the value is always given whole.
type NewVariable struct {
	Value  string `json:"value"`
	Secret bool   `json:"secret" doc:"write-only from now on"`
}

// VariablePath names a Variable of an Environment in a path.
type VariablePath struct {
	EnvironmentPath
	Name string `path:"name"`
}

func (s *server) listVariables(ctx context.Context, c personCaller, in *EnvironmentPath) (*itemsOut[claudehub.Variable], error) {
	return items(s.fleet.EnvironmentVariables(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

func (s *server) setVariable(ctx context.Context, c personCaller, in *struct {
	VariablePath
	Body NewVariable
}) (*variableOut, error) {
	return oneVariable(s.fleet.SetEnvironmentVariable(ctx, c.ID, claudehub.EnvironmentID(in.ID), in.Name, in.Body.Value, in.Body.Secret))
}

func (s *server) deleteVariable(ctx context.Context, c personCaller, in *VariablePath) (*Empty, error) {
	return &Empty{}, s.fleet.DeleteEnvironmentVariable(ctx, c.ID, claudehub.EnvironmentID(in.ID), in.Name)
}

// RepoQuery names a repository.
type RepoQuery struct {
	Repo string `query:"repo" required:"true" doc:"github.com/owner/name"`
}

func (s *server) listRepos(ctx context.Context, c personCaller, _ *Empty) (*itemsOut[fleet.RepoVariables], error) {
	return items(s.fleet.Repos(ctx, c.ID))
}

func (s *server) listRepoVariables(ctx context.Context, c personCaller, in *RepoQuery) (*itemsOut[claudehub.Variable], error) {
	return items(s.fleet.RepoVariables(ctx, c.ID, in.Repo))
}

func (s *server) setRepoVariable(ctx context.Context, c personCaller, in *struct {
	RepoQuery
	Name string `path:"name"`
	Body NewVariable
}) (*variableOut, error) {
	return oneVariable(s.fleet.SetRepoVariable(ctx, c.ID, in.Repo, in.Name, in.Body.Value, in.Body.Secret))
}

func (s *server) deleteRepoVariable(ctx context.Context, c personCaller, in *struct {
	RepoQuery
	Name string `path:"name"`
}) (*Empty, error) {
	return &Empty{}, s.fleet.DeleteRepoVariable(ctx, c.ID, in.Repo, in.Name)
}

// runnerVariables answers with values in clear: no cache on the way may keep it.
func (s *server) runnerVariables(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	id, err := claudehub.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	out, err := s.fleet.SessionVariables(r.Context(), c.id, id)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, out)
}

func (s *server) runnerBuildVariables(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	id, err := claudehub.ParseBuildID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	out, err := s.fleet.BuildVariables(r.Context(), c.id, id)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, out)
}
