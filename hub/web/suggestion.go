package web

import (
	"context"

	"claude-hub/internal/claudehub"
)

type suggestionOut struct{ Body claudehub.Suggestion }

func oneSuggestion(v claudehub.Suggestion, err error) (*suggestionOut, error) {
	if err != nil {
		return nil, err
	}
	return &suggestionOut{v}, nil
}

func (s *server) listSuggestions(ctx context.Context, c personCaller, in *SessionPath) (*itemsOut[claudehub.Suggestion], error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return items(s.fleet.Suggestions(ctx, c.ID, id))
}

// NewSuggestion is the body of make-suggestion.
type NewSuggestion struct {
	Text string `json:"text"`
}

func (s *server) suggest(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Body NewSuggestion
}) (*suggestionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return oneSuggestion(s.fleet.Suggest(ctx, c.ID, id, in.Body.Text))
}

// SuggestionPath names a suggestion in a path.
type SuggestionPath struct {
	ID string `path:"id"`
}

// Acceptance is the body of accept-suggestion.
type Acceptance struct {
	Text *string `json:"text,omitempty" doc:"what to send instead, when the Creator edited it"`
}

func (s *server) accept(ctx context.Context, c personCaller, in *struct {
	SuggestionPath
	Body *Acceptance
}) (*promptOut, error) {
	id, err := claudehub.ParseSuggestionID(in.ID)
	if err != nil {
		return nil, err
	}
	var text *string
	if in.Body != nil {
		text = in.Body.Text
	}
	_, p, err := s.fleet.AcceptSuggestion(ctx, c.ID, id, text)
	if err != nil {
		return nil, err
	}
	return &promptOut{p}, nil
}

// Refusal is the body of decline-suggestion.
type Refusal struct {
	Why string `json:"why,omitempty" maxLength:"4000"`
}

func (s *server) decline(ctx context.Context, c personCaller, in *struct {
	SuggestionPath
	Body *Refusal
}) (*suggestionOut, error) {
	id, err := claudehub.ParseSuggestionID(in.ID)
	if err != nil {
		return nil, err
	}
	why := ""
	if in.Body != nil {
		why = in.Body.Why
	}
	return oneSuggestion(s.fleet.DeclineSuggestion(ctx, c.ID, id, why))
}

func (s *server) withdraw(ctx context.Context, c personCaller, in *SuggestionPath) (*suggestionOut, error) {
	id, err := claudehub.ParseSuggestionID(in.ID)
	if err != nil {
		return nil, err
	}
	return oneSuggestion(s.fleet.WithdrawSuggestion(ctx, c.ID, id))
}
