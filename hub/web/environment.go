package web

import (
	"context"

	"claude-hub/hub/devcontainer"
	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

type environmentOut struct{ Body claudehub.Environment }

// EnvironmentPath names an Environment in a path.
type EnvironmentPath struct {
	ID string `path:"id"`
}

func oneEnvironment(e claudehub.Environment, err error) (*environmentOut, error) {
	if err != nil {
		return nil, err
	}
	return &environmentOut{e}, nil
}

// itemsOut is a list as every route answers it.
type itemsOut[T any] struct {
	Body struct {
		Items []T `json:"items"`
	}
}

func items[T any](all []T, err error) (*itemsOut[T], error) {
	if err != nil {
		return nil, err
	}
	out := &itemsOut[T]{}
	out.Body.Items = list(all)
	return out, nil
}

func (s *server) listEnvironments(ctx context.Context, c personCaller, in *struct {
	Archived bool `query:"archived"`
}) (*itemsOut[claudehub.Environment], error) {
	return items(s.fleet.Environments(ctx, c.ID, in.Archived))
}

// NewEnvironment is the body of create-environment.
type NewEnvironment struct {
	Name   string           `json:"name"`
	Recipe claudehub.Recipe `json:"recipe"`
}

func (s *server) createEnvironment(ctx context.Context, c personCaller, in *struct{ Body NewEnvironment }) (*environmentOut, error) {
	return oneEnvironment(s.fleet.CreateEnvironment(ctx, c.ID, in.Body.Name, in.Body.Recipe))
}

func (s *server) getEnvironment(ctx context.Context, c personCaller, in *EnvironmentPath) (*environmentOut, error) {
	return oneEnvironment(s.fleet.Environment(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

// EnvironmentChange is the body of update-environment: what is absent stays.
type EnvironmentChange struct {
	Name        *string           `json:"name,omitempty"`
	Recipe      *claudehub.Recipe `json:"recipe,omitempty"`
	BaseVersion int               `json:"base_version" doc:"the newest version when the person began; a conflict when it is not any more"`
}

func (s *server) updateEnvironment(ctx context.Context, c personCaller, in *struct {
	EnvironmentPath
	Body EnvironmentChange
}) (*environmentOut, error) {
	return oneEnvironment(s.fleet.UpdateEnvironment(ctx, c.ID, claudehub.EnvironmentID(in.ID),
		fleet.EnvironmentUpdate{Name: in.Body.Name, Recipe: in.Body.Recipe, Base: in.Body.BaseVersion}))
}

func (s *server) archiveEnvironment(ctx context.Context, c personCaller, in *EnvironmentPath) (*environmentOut, error) {
	return oneEnvironment(s.fleet.ArchiveEnvironment(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

func (s *server) unarchiveEnvironment(ctx context.Context, c personCaller, in *EnvironmentPath) (*environmentOut, error) {
	return oneEnvironment(s.fleet.UnarchiveEnvironment(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

func (s *server) listVersions(ctx context.Context, c personCaller, in *EnvironmentPath) (*itemsOut[claudehub.EnvironmentVersion], error) {
	return items(s.fleet.EnvironmentVersions(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

func (s *server) listSeeds(ctx context.Context, c personCaller, _ *Empty) (*itemsOut[fleet.FoundSeed], error) {
	return items(s.fleet.Seeds(ctx, c.ID))
}

// SeedRequest is the body of seed-environment: a repository whose devcontainer a Runner found, or the files themselves.
type SeedRequest struct {
	Repo  string            `json:"repo,omitempty" doc:"github.com/owner/name"`
	Path  string            `json:"path,omitempty" doc:"of devcontainer.json; with repo: which one, the one nearest to the root when empty"`
	JSON  string            `json:"json,omitempty" doc:"what devcontainer.json has in it"`
	Files map[string]string `json:"files,omitempty" doc:"plain text files that it names, by their path beside it"`
}

func (s *server) seedEnvironment(ctx context.Context, c personCaller, in *struct{ Body SeedRequest }) (*struct{ Body devcontainer.Seed }, error) {
	b := in.Body
	var seed devcontainer.Seed
	var err error
	switch {
	case (b.Repo == "") == (b.JSON == ""):
		err = claudehub.Errorf(claudehub.Invalid, "Give a repository whose devcontainer is known, or the text of a devcontainer.json.")
	case b.Repo != "":
		seed, err = s.fleet.SeedFromRepo(ctx, c.ID, b.Repo, b.Path)
	default:
		seed, err = s.fleet.SeedFrom(wire.Devcontainer{Path: b.Path, JSON: b.JSON, Files: b.Files})
	}
	if err != nil {
		return nil, err
	}
	return &struct{ Body devcontainer.Seed }{seed}, nil
}
