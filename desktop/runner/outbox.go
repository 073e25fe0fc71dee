package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// maxOutbox bounds what waits for a Hub that is away, in events: weeks of work. Past it the oldest Turn reports go;
// reports on prompts and notices stay.
const maxOutbox = 100_000

// maxOfSession bounds the waiting events of one kind, but for those on prompts, of one Session: past it its own oldest
// go, so that a Session that reports without end pushes out nobody else's.
const maxOfSession = 2_000

// Post puts an event into the durable outbox. It is on disk when Post returns.
func (s *State) Post(ctx context.Context, e wire.Event) error {
	return s.tx(ctx, func(tx *sqlx.Tx) error { return postTx(ctx, tx, e) })
}

func postTx(ctx context.Context, tx *sqlx.Tx, e wire.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO outbox (id, session, kind, body) VALUES (?, ?, ?, ?)", e.ID, e.Session, e.Kind, body); err != nil {
		return fmt.Errorf("post event: %w", err)
	}
	if e.Kind == wire.ReportPrompt {
		return nil // bounded by the queue of prompts, and none may be lost
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM outbox WHERE session = ? AND kind = ? AND n <=
		(SELECT n FROM outbox WHERE session = ? AND kind = ? ORDER BY n DESC LIMIT 1 OFFSET ?)`,
		e.Session, e.Kind, e.Session, e.Kind, maxOfSession)
	if err != nil {
		return fmt.Errorf("bound events: %w", err)
	}
	// AUTOINCREMENT numbers only grow, so the span of numbers bounds the count from above.
	_, err = tx.ExecContext(ctx, "DELETE FROM outbox WHERE n <= (SELECT max(n) FROM outbox) - ? AND kind = ?", maxOutbox, wire.ReportTurn)
	return err
}

// Waiting returns the oldest events of the outbox, at most wire.MaxEvents.
func (s *State) Waiting(ctx context.Context) ([]wire.Event, error) {
	var bodies [][]byte
	if err := s.db.SelectContext(ctx, &bodies, "SELECT body FROM outbox ORDER BY n LIMIT ?", wire.MaxEvents); err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	events := make([]wire.Event, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &events[i]); err != nil {
			return nil, fmt.Errorf("read outbox: %w", err)
		}
	}
	return events, nil
}

// Forget removes events that the Hub has stored.
func (s *State) Forget(ctx context.Context, ids []claudehub.EventID) error {
	if len(ids) == 0 {
		return nil
	}
	q, args, err := sqlx.In("DELETE FROM outbox WHERE id IN (?)", ids)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, q, args...)
	return err
}

// outboxLoop sends what waits in the outbox, in order, until ctx ends. A Hub that is away only makes it wait.
type outboxLoop struct {
	state *State
	hub   *Hub
	wake  *signal
	pause *pause // between tries while the Hub is away
	log   *slog.Logger
}

func (o *outboxLoop) Run(ctx context.Context) error {
	for {
		sent, err := o.sendBatch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // told to end; what was not sent waits on the disk
		case err != nil:
			o.log.Debug("events not sent", "error", err)
			o.pause.sleep(ctx)
		case sent == 0:
			o.pause.reset()
			o.wake.wait(ctx, time.Minute)
		default:
			o.pause.reset()
		}
	}
}

func (o *outboxLoop) sendBatch(ctx context.Context) (int, error) {
	events, err := o.state.Waiting(ctx)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	reply, err := o.hub.Events(ctx, wire.Events{Events: events})
	if err != nil {
		return 0, err
	}
	if len(reply.Stored) == 0 {
		return 0, fmt.Errorf("the Hub stored none of %d events", len(events))
	}
	return len(reply.Stored), o.state.Forget(ctx, reply.Stored)
}
