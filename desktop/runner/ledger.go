package runner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Stage is how far a prompt has come on this machine. It is written down before the act that it names, so that after a
// kill at any moment it is known what may have happened.
type Stage string

// The stages, in order.
const (
	StageReceived Stage = "received" // on disk here
	StagePasting  Stage = "pasting"  // its text may be in Claude's input box
	StageEntering Stage = "entering" // Enter may have been pressed
	StageAccepted Stage = "accepted" // Claude reported it
	StageOver     Stage = "over"     // nothing more will happen to it here
)

// Entry is one prompt's line in the ledger. Life and N say where it was written: which terminal, which input number.
type Entry struct {
	ID    claudehub.PromptID `db:"id"`
	Stage Stage              `db:"stage"`
	Life  string             `db:"life"`
	N     uint64             `db:"n"`
}

// Ledger returns the entries of a Session that are not over, by id.
func (s *State) Ledger(ctx context.Context, id claudehub.SessionID) (map[claudehub.PromptID]Entry, error) {
	var rows []Entry
	err := s.db.SelectContext(ctx, &rows, "SELECT id, stage, life, n FROM prompts WHERE session = ? AND stage <> ?", id, StageOver)
	if err != nil {
		return nil, fmt.Errorf("read prompts of %s: %w", id, err)
	}
	out := make(map[claudehub.PromptID]Entry, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}
	return out, nil
}

// Advance moves a prompt to a stage and, with report set, puts the report for the Hub into the outbox in the same
// transaction. It answers false, and does nothing, where the prompt is over already.
func (s *State) Advance(ctx context.Context, session claudehub.SessionID, e Entry, report *wire.Event) (bool, error) {
	moved := false
	err := s.tx(ctx, func(tx *sqlx.Tx) error {
		var old Stage
		err := tx.GetContext(ctx, &old, "SELECT stage FROM prompts WHERE id = ?", e.ID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if old == StageOver || old == e.Stage && e.Stage == StageReceived {
			return nil
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO prompts (id, session, stage, life, n, updated) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET stage = excluded.stage, life = excluded.life, n = excluded.n, updated = excluded.updated`,
			e.ID, session, e.Stage, e.Life, e.N, time.Now().UnixMilli())
		if err != nil {
			return err
		}
		moved = true
		if report == nil {
			return nil
		}
		return postTx(ctx, tx, *report)
	})
	if err != nil {
		return false, fmt.Errorf("advance prompt %s to %s: %w", e.ID, e.Stage, err)
	}
	return moved, nil
}

// forgetOver drops ledger lines that have been over for longer than any repetition of a prompt can take.
func (s *State) forgetOver(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM prompts WHERE stage = ? AND updated < ?", StageOver,
		time.Now().Add(-30*24*time.Hour).UnixMilli())
	return err
}
