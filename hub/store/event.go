package store

import (
	"context"
	"slices"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

type eventRow struct {
	ID      claudehub.EventID     `db:"id"`
	Session claudehub.SessionID   `db:"session"`
	Kind    wire.EventKind        `db:"kind"`
	At      int64                 `db:"at"`
	Prompt  claudehub.PromptID    `db:"prompt"`
	State   claudehub.PromptState `db:"state"`
	Text    string                `db:"body"`
	Ended   int                   `db:"ended"`
}

func (r eventRow) event() wire.Event {
	return wire.Event{ID: r.ID, Session: r.Session, Kind: r.Kind, At: at(r.At), Prompt: r.Prompt, State: r.State,
		Text: r.Text, Ended: r.Ended != 0}
}

// AddEvent stores an event once. It tells whether this was the first time.
func (q Q) AddEvent(ctx context.Context, e wire.Event, stored time.Time) (first bool, err error) {
	ended := 0
	if e.Ended {
		ended = 1
	}
	n, err := q.exec(ctx, `INSERT INTO events (id, session, kind, at, prompt, state, body, ended, stored)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING`,
		e.ID, e.Session, e.Kind, micros(e.At), e.Prompt, e.State, e.Text, ended, micros(stored))
	return n == 1, err
}

// Events lists the newest events of a Session, of all kinds but one, the oldest of them first.
func (q Q) Events(ctx context.Context, session claudehub.SessionID, but wire.EventKind, limit int) ([]wire.Event, error) {
	var rows []eventRow
	err := q.all(ctx, &rows, `SELECT id, session, kind, at, prompt, state, body, ended FROM events
		WHERE session = ? AND kind <> ? ORDER BY at DESC, stored DESC, id DESC LIMIT ?`, session, but, limit)
	out := convert(rows, eventRow.event)
	slices.Reverse(out)
	return out, err
}
