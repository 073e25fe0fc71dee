package web

import (
	"context"
	"slices"
	"strconv"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

type sessionOut struct{ Body claudehub.Session }

type sessionsOut struct {
	Body struct {
		Items []claudehub.Session `json:"items"`
	}
}

// SessionPath names a Session in a path.
type SessionPath struct {
	ID string `path:"id"`
}

func (s *server) listSessions(ctx context.Context, c personCaller, in *struct {
	Archived bool `query:"archived"`
}) (*sessionsOut, error) {
	all, err := s.fleet.Sessions(ctx, c.ID, in.Archived)
	if err != nil {
		return nil, err
	}
	out := &sessionsOut{}
	out.Body.Items = list(all)
	return out, nil
}

// NewSession is the body of create-session.
type NewSession struct {
	Runner  claudehub.RunnerID `json:"runner"`
	Title   string             `json:"title,omitempty"`
	Source  claudehub.Source   `json:"source,omitempty"`
	Model   string             `json:"model,omitempty"`
	Effort  string             `json:"effort,omitempty"`
	Prompt  string             `json:"prompt,omitempty" doc:"the first prompt"`
	Request string             `json:"request,omitempty" maxLength:"100" doc:"made by the client: the same one twice gives the same Session"`

	Environment *EnvironmentChoice `json:"environment,omitempty" doc:"the default recipe when absent"`
}

// EnvironmentChoice is the version of an Environment that a Session shall run on.
type EnvironmentChoice struct {
	ID      claudehub.EnvironmentID `json:"id" doc:"empty for the default recipe"`
	Version int                     `json:"version,omitempty" doc:"the newest when absent"`
}

func (e *EnvironmentChoice) ref() *claudehub.EnvironmentRef {
	if e == nil {
		return nil
	}
	return &claudehub.EnvironmentRef{ID: e.ID, Version: e.Version}
}

func (s *server) createSession(ctx context.Context, c personCaller, in *struct{ Body NewSession }) (*sessionOut, error) {
	b := in.Body
	runner, err := claudehub.ParseRunnerID(string(b.Runner))
	if err != nil {
		return nil, err
	}
	made, err := s.fleet.CreateSession(ctx, c.ID, fleet.NewSession{
		Runner: runner, Title: b.Title, Source: b.Source, Model: b.Model, Effort: b.Effort, Prompt: b.Prompt, Request: b.Request,
		Environment: b.Environment.ref(),
	})
	return one(made, err)
}

func (s *server) getSession(ctx context.Context, c personCaller, in *SessionPath) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.Session(ctx, c.ID, id))
}

// SessionChange is the body of update-session: what is absent stays.
type SessionChange struct {
	Title  *string `json:"title,omitempty"`
	Model  *string `json:"model,omitempty"`
	Effort *string `json:"effort,omitempty"`

	Environment *EnvironmentChoice `json:"environment,omitempty" doc:"counts from the next wake"`
}

func (s *server) updateSession(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Body SessionChange
}) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.UpdateSession(ctx, c.ID, id, fleet.SessionUpdate{Title: in.Body.Title, Model: in.Body.Model, Effort: in.Body.Effort,
		Environment: in.Body.Environment.ref()}))
}

func (s *server) forward(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Body claudehub.Forward
}) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.Forward(ctx, c.ID, id, in.Body))
}

func (s *server) unforward(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Port string `path:"port"`
}) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(in.Port)
	if err != nil {
		return nil, claudehub.Errorf(claudehub.NotFound, "There is no such port.")
	}
	return one(s.fleet.Unforward(ctx, c.ID, id, port))
}

// action serves a verb of the fleet that takes a Session and nothing else.
func (s *server) action(do func(context.Context, claudehub.PersonID, claudehub.SessionID) (claudehub.Session, error)) func(context.Context, personCaller, *SessionPath) (*sessionOut, error) {
	return func(ctx context.Context, c personCaller, in *SessionPath) (*sessionOut, error) {
		id, err := claudehub.ParseSessionID(in.ID)
		if err != nil {
			return nil, err
		}
		return one(do(ctx, c.ID, id))
	}
}

func one(s claudehub.Session, err error) (*sessionOut, error) {
	if err != nil {
		return nil, err
	}
	return &sessionOut{s}, nil
}

// list makes an absent list an empty one: in JSON a list is never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

type runnerOut struct{ Body claudehub.Runner }

type runnersOut struct {
	Body struct {
		Items []claudehub.Runner `json:"items"`
	}
}

func (s *server) listRunners(ctx context.Context, c personCaller, _ *Empty) (*runnersOut, error) {
	all, err := s.fleet.Runners(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	out := &runnersOut{}
	out.Body.Items = list(slices.Clone(all))
	for i := range out.Body.Items {
		out.Body.Items[i] = whole(out.Body.Items[i])
	}
	return out, nil
}

// RunnerChange is the body of rename-runner.
type RunnerChange struct {
	Name string `json:"name"`
}

func (s *server) renameRunner(ctx context.Context, c personCaller, in *struct {
	ID   string `path:"id"`
	Body RunnerChange
}) (*runnerOut, error) {
	id, err := claudehub.ParseRunnerID(in.ID)
	if err != nil {
		return nil, err
	}
	r, err := s.fleet.RenameRunner(ctx, c.ID, id, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &runnerOut{whole(r)}, nil
}

// ReclaimRequest is the body of reclaim.
type ReclaimRequest struct {
	What []string `json:"what" doc:"kinds of storage item: image, base, kept, leftover, unowned"`
}

func (s *server) reclaim(ctx context.Context, c personCaller, in *struct {
	ID   string `path:"id"`
	Body ReclaimRequest
}) (*runnerOut, error) {
	id, err := claudehub.ParseRunnerID(in.ID)
	if err != nil {
		return nil, err
	}
	r, err := s.fleet.Reclaim(ctx, c.ID, id, in.Body.What)
	if err != nil {
		return nil, err
	}
	return &runnerOut{whole(r)}, nil
}

// whole: what an earlier version stored has no lists where this one has them.
func whole(r claudehub.Runner) claudehub.Runner {
	m := &r.Machine
	m.Doctor, m.Unowned, m.Networks, m.Storage.Items = list(m.Doctor), list(m.Unowned), list(m.Networks), list(m.Storage.Items)
	return r
}
