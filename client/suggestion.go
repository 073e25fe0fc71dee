package client

import (
	"context"
	"net/http"
)

// Suggestions lists what Participants propose for a Session, the oldest first.
func (c *Client) Suggestions(ctx context.Context, id SessionID) ([]Suggestion, error) {
	return list[Suggestion](ctx, c, sessionPath(id, "/suggestions"))
}

// Suggest proposes a prompt to the Session's Creator. It is not tried again by itself: that would propose it twice.
func (c *Client) Suggest(ctx context.Context, id SessionID, text string) (out Suggestion, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id, "/suggestions"), false, map[string]string{"text": text}, &out)
	return out, err
}

func (c *Client) answer(ctx context.Context, id SuggestionID, verb string, in, out any) error {
	return c.call(ctx, http.MethodPost, "/api/suggestions"+segment(string(id))+"/"+verb, true, in, out)
}

// AcceptSuggestion queues it as the Creator's own prompt: as it is with no text, or with the text that it was edited to.
func (c *Client) AcceptSuggestion(ctx context.Context, id SuggestionID, text *string) (out Prompt, err error) {
	err = c.answer(ctx, id, "accept", map[string]*string{"text": text}, &out)
	return out, err
}

// DeclineSuggestion says no; why may be empty.
func (c *Client) DeclineSuggestion(ctx context.Context, id SuggestionID, why string) (out Suggestion, err error) {
	err = c.answer(ctx, id, "decline", map[string]string{"why": why}, &out)
	return out, err
}

// WithdrawSuggestion takes back one's own.
func (c *Client) WithdrawSuggestion(ctx context.Context, id SuggestionID) (out Suggestion, err error) {
	err = c.answer(ctx, id, "withdraw", nil, &out)
	return out, err
}
