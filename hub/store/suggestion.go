package store

import (
	"context"
	"slices"

	"claude-hub/internal/claudehub"
)

type suggestionRow struct {
	ID      claudehub.SuggestionID    `db:"id"`
	Session claudehub.SessionID       `db:"session"`
	Author  claudehub.PersonID        `db:"author"`
	Text    string                    `db:"body"`
	State   claudehub.SuggestionState `db:"state"`
	Prompt  claudehub.PromptID        `db:"prompt"`
	Why     string                    `db:"why"`
	Created int64                     `db:"created"`
	Updated int64                     `db:"updated"`

	Login  string `db:"login"`
	Name   string `db:"name"`
	Avatar string `db:"avatar"`
}

const selectSuggestion = `SELECT s.id, s.session, s.author, s.body, s.state, s.prompt, s.why, s.created, s.updated, p.login, p.name, p.avatar
	FROM suggestions s JOIN people p ON p.id = s.author`

func (r suggestionRow) suggestion() claudehub.Suggestion {
	return claudehub.Suggestion{ID: r.ID, Session: r.Session, Text: r.Text, State: r.State, Prompt: r.Prompt, Why: r.Why,
		Author:  claudehub.Face{ID: r.Author, Login: r.Login, Name: r.Name, Avatar: r.Avatar},
		Created: at(r.Created), Updated: at(r.Updated)}
}

// AddSuggestion stores a suggestion.
func (q Q) AddSuggestion(ctx context.Context, s claudehub.Suggestion) error {
	_, err := q.exec(ctx, `INSERT INTO suggestions (id, session, author, body, state, prompt, why, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Session, s.Author.ID, s.Text, s.State, s.Prompt, s.Why, micros(s.Created), micros(s.Updated))
	return err
}

// Suggestion finds a suggestion.
func (q Q) Suggestion(ctx context.Context, id claudehub.SuggestionID) (claudehub.Suggestion, error) {
	var r suggestionRow
	err := q.get(ctx, &r, selectSuggestion+` WHERE s.id = ?`, id)
	return r.suggestion(), err
}

// Suggestions lists the newest suggestions of a Session, the oldest of them first.
func (q Q) Suggestions(ctx context.Context, session claudehub.SessionID, limit int) ([]claudehub.Suggestion, error) {
	var rows []suggestionRow
	err := q.all(ctx, &rows, selectSuggestion+` WHERE s.session = ? ORDER BY s.created DESC, s.id DESC LIMIT ?`, session, limit)
	slices.Reverse(rows)
	return convert(rows, suggestionRow.suggestion), err
}

// CountSuggestions counts those of a Session that are open.
func (q Q) CountSuggestions(ctx context.Context, session claudehub.SessionID) (int, error) {
	var n int
	err := q.get(ctx, &n, `SELECT count(*) FROM suggestions WHERE session = ? AND state = ?`, session, claudehub.SuggestionOpen)
	return n, err
}

// SetSuggestion stores what became of a suggestion.
func (q Q) SetSuggestion(ctx context.Context, s claudehub.Suggestion) error {
	return q.must(ctx, `UPDATE suggestions SET state = ?, prompt = ?, why = ?, updated = ? WHERE id = ?`, s.State, s.Prompt, s.Why, micros(s.Updated), s.ID)
}
