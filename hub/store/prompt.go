package store

import (
	"context"
	"slices"
	"time"

	"claude-hub/internal/claudehub"
)

type promptRow struct {
	ID      claudehub.PromptID    `db:"id"`
	Session claudehub.SessionID   `db:"session"`
	Author  claudehub.PersonID    `db:"author"`
	Text    string                `db:"body"`
	State   claudehub.PromptState `db:"state"`
	Why     string                `db:"why"`
	Created int64                 `db:"created"`
	Updated int64                 `db:"updated"`
	Expires int64                 `db:"expires"`

	SuggestedBy claudehub.PersonID `db:"suggested_by"`
}

const (
	promptColumns = `id, session, author, body, state, why, created, updated, expires, suggested_by`
	open          = `state IN ('queued', 'delivered', 'accepted')`
	waiting       = `state IN ('queued', 'delivered')`
)

func (r promptRow) prompt() claudehub.Prompt {
	p := claudehub.Prompt{ID: r.ID, Session: r.Session, Author: r.Author, Text: r.Text, State: r.State, Why: r.Why,
		Created: at(r.Created), Updated: at(r.Updated), Expires: at(r.Expires)}
	if r.SuggestedBy != "" {
		p.SuggestedBy = &claudehub.Face{ID: r.SuggestedBy}
	}
	return p
}

// AddPrompt stores a prompt at the end of its Session's queue; Conflict when its request key was used there before.
func (q Q) AddPrompt(ctx context.Context, p claudehub.Prompt, request string) error {
	var suggestedBy claudehub.PersonID
	if p.SuggestedBy != nil {
		suggestedBy = p.SuggestedBy.ID
	}
	_, err := q.exec(ctx, `INSERT INTO prompts (`+promptColumns+`, request, position)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM prompts WHERE session = ?))`,
		p.ID, p.Session, p.Author, p.Text, p.State, p.Why, micros(p.Created), micros(p.Updated), micros(p.Expires), suggestedBy, request, p.Session)
	return err
}

// Prompt finds a prompt of a Session.
func (q Q) Prompt(ctx context.Context, session claudehub.SessionID, id claudehub.PromptID) (claudehub.Prompt, error) {
	return q.onePrompt(ctx, `SELECT `+promptColumns+` FROM prompts WHERE id = ? AND session = ?`, id, session)
}

// PromptByID finds a prompt whose Session is not known to the caller.
func (q Q) PromptByID(ctx context.Context, id claudehub.PromptID) (claudehub.Prompt, error) {
	return q.onePrompt(ctx, `SELECT `+promptColumns+` FROM prompts WHERE id = ?`, id)
}

// PromptByRequest finds the prompt that was made with that key in a Session.
func (q Q) PromptByRequest(ctx context.Context, session claudehub.SessionID, request string) (claudehub.Prompt, error) {
	return q.onePrompt(ctx, `SELECT `+promptColumns+` FROM prompts WHERE session = ? AND request = ?`, session, request)
}

func (q Q) onePrompt(ctx context.Context, query string, args ...any) (claudehub.Prompt, error) {
	var r promptRow
	if err := q.get(ctx, &r, query, args...); err != nil {
		return claudehub.Prompt{}, err
	}
	out := []claudehub.Prompt{r.prompt()}
	err := q.showSuggesters(ctx, out)
	return out[0], err
}

// Prompts lists the newest prompts of a Session, the oldest of them first.
func (q Q) Prompts(ctx context.Context, session claudehub.SessionID, limit int) ([]claudehub.Prompt, error) {
	out, err := q.manyPrompts(ctx, `SELECT `+promptColumns+` FROM prompts WHERE session = ? ORDER BY position DESC LIMIT ?`, session, limit)
	slices.Reverse(out)
	return out, err
}

// OpenPrompts lists those of a Session that are not final, in the order to send them.
func (q Q) OpenPrompts(ctx context.Context, session claudehub.SessionID) ([]claudehub.Prompt, error) {
	return q.manyPrompts(ctx, `SELECT `+promptColumns+` FROM prompts WHERE session = ? AND `+open+` ORDER BY position`, session)
}

// OpenPromptsOf lists those of all Sessions of a Runner whose number is above seq, in the order to send them.
func (q Q) OpenPromptsOf(ctx context.Context, runner claudehub.RunnerID, seq int64) ([]claudehub.Prompt, error) {
	return q.manyPrompts(ctx, `SELECT `+promptColumns+` FROM prompts WHERE `+open+`
		AND session IN (SELECT id FROM sessions WHERE runner = ? AND seq > ?) ORDER BY session, position`, runner, seq)
}

// DuePrompts lists up to a limit of those, in all Sessions, whose time is over while they wait.
func (q Q) DuePrompts(ctx context.Context, now time.Time, limit int) ([]claudehub.Prompt, error) {
	return q.manyPrompts(ctx, `SELECT `+promptColumns+` FROM prompts WHERE `+waiting+` AND expires <= ? ORDER BY expires LIMIT ?`,
		micros(now), limit)
}

func (q Q) manyPrompts(ctx context.Context, query string, args ...any) ([]claudehub.Prompt, error) {
	var rows []promptRow
	if err := q.all(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	out := convert(rows, promptRow.prompt)
	return out, q.showSuggesters(ctx, out)
}

// showSuggesters puts in what others see of those who suggested prompts.
func (q Q) showSuggesters(ctx context.Context, all []claudehub.Prompt) error {
	var ids []claudehub.PersonID
	for _, p := range all {
		if p.SuggestedBy != nil && !slices.Contains(ids, p.SuggestedBy.ID) {
			ids = append(ids, p.SuggestedBy.ID)
		}
	}
	faces, err := q.Faces(ctx, ids)
	for i, p := range all {
		if p.SuggestedBy == nil {
			continue
		}
		if face, ok := faces[p.SuggestedBy.ID]; ok {
			all[i].SuggestedBy = &face
		}
	}
	return err
}

// SetPromptState stores how far a prompt has come.
func (q Q) SetPromptState(ctx context.Context, p claudehub.Prompt) error {
	return q.must(ctx, `UPDATE prompts SET state = ?, why = ?, updated = ? WHERE id = ?`, p.State, p.Why, micros(p.Updated), p.ID)
}
