package web

import (
	"context"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

type promptOut struct{ Body claudehub.Prompt }

type promptsOut struct {
	Body struct {
		Items []claudehub.Prompt `json:"items"`
	}
}

func (s *server) listPrompts(ctx context.Context, c personCaller, in *SessionPath) (*promptsOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.fleet.Prompts(ctx, c.ID, id)
	if err != nil {
		return nil, err
	}
	out := &promptsOut{}
	out.Body.Items = list(all)
	return out, nil
}

// NewPrompt is the body of add-prompt.
type NewPrompt struct {
	Text    string `json:"text"`
	Request string `json:"request,omitempty" maxLength:"100" doc:"made by the client: the same one twice gives the same prompt"`
}

func (s *server) addPrompt(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Body NewPrompt
}) (*promptOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	p, err := s.fleet.AddPrompt(ctx, c.ID, id, in.Body.Text, in.Body.Request)
	if err != nil {
		return nil, err
	}
	return &promptOut{p}, nil
}

func (s *server) cancelPrompt(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Prompt string `path:"prompt"`
}) (*promptOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	prompt, err := claudehub.ParsePromptID(in.Prompt)
	if err != nil {
		return nil, err
	}
	p, err := s.fleet.CancelPrompt(ctx, c.ID, id, prompt)
	if err != nil {
		return nil, err
	}
	return &promptOut{p}, nil
}

type historyOut struct {
	Body struct {
		Items []fleet.Entry `json:"items"`
	}
}

func (s *server) history(ctx context.Context, c personCaller, in *SessionPath) (*historyOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.fleet.History(ctx, c.ID, id)
	if err != nil {
		return nil, err
	}
	out := &historyOut{}
	out.Body.Items = list(all)
	return out, nil
}
