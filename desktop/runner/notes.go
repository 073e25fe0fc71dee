package runner

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Keys of what is kept of the machine as a whole.
const (
	noteMachine   = "machine"   // wire.DesiredMachine
	noteReclaimed = "reclaimed" // claudehub.Reclaimed
)

// SaveMachine stores what is desired of the machine, with the stream id that it came with.
func (s *State) SaveMachine(ctx context.Context, m wire.DesiredMachine) error {
	return s.tx(ctx, func(tx *sqlx.Tx) error {
		if err := noteTx(ctx, tx, noteMachine, m); err != nil {
			return err
		}
		return seqTx(ctx, tx, m.Seq)
	})
}

// Machine is what was last desired of the machine; empty before that.
func (s *State) Machine(ctx context.Context) (m wire.DesiredMachine, err error) {
	return m, s.note(ctx, noteMachine, &m)
}

// SaveReclaimed stores what the last Reclaim did.
func (s *State) SaveReclaimed(ctx context.Context, r claudehub.Reclaimed) error {
	return s.tx(ctx, func(tx *sqlx.Tx) error { return noteTx(ctx, tx, noteReclaimed, r) })
}

// Reclaimed is what the last Reclaim did; empty before the first.
func (s *State) Reclaimed(ctx context.Context) (r claudehub.Reclaimed, err error) {
	return r, s.note(ctx, noteReclaimed, &r)
}

func noteTx(ctx context.Context, tx *sqlx.Tx, key string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO notes (key, body) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body", key, body)
	if err != nil {
		return fmt.Errorf("save %s: %w", key, err)
	}
	return nil
}

func (s *State) note(ctx context.Context, key string, into any) error {
	var body []byte
	err := s.db.GetContext(ctx, &body, "SELECT body FROM notes WHERE key = ?", key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}

// SaveBuild stores how far a build has come.
func (s *State) SaveBuild(ctx context.Context, o wire.ObservedBuild) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, "INSERT INTO builds (id, observed) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET observed = excluded.observed", o.ID, body)
	if err != nil {
		return fmt.Errorf("save build %s: %w", o.ID, err)
	}
	return nil
}

// Builds returns every build, the oldest first.
func (s *State) Builds(ctx context.Context) ([]wire.ObservedBuild, error) {
	var bodies [][]byte
	if err := s.db.SelectContext(ctx, &bodies, "SELECT observed FROM builds ORDER BY id"); err != nil {
		return nil, fmt.Errorf("read builds: %w", err)
	}
	out := make([]wire.ObservedBuild, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, fmt.Errorf("read builds: %w", err)
		}
	}
	return out, nil
}

// ForgetBuild removes a build. Its log is the builder's.
func (s *State) ForgetBuild(ctx context.Context, id claudehub.BuildID) error {
	if _, err := s.db.ExecContext(ctx, "DELETE FROM builds WHERE id = ?", id); err != nil {
		return fmt.Errorf("forget build %s: %w", id, err)
	}
	return nil
}
