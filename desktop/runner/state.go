package runner

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

//go:embed migrations/*.sql
var migrations embed.FS

// State is what the Runner remembers across a kill: each Session's last desired state, its own facts about it, how far
// each prompt has come, and the events that the Hub has not stored yet. Every write is on disk when the call returns.
type State struct{ db *sqlx.DB }

// Local is what only the Runner knows of a Session.
type Local struct {
	// ClaudeID names the conversation for --session-id and --resume.
	ClaudeID string `json:"claude_id"`
	// Conversation is the desired conversation number that ClaudeID belongs to.
	Conversation int64 `json:"conversation"`
	// Talked is set once Claude accepted a prompt: from then on a missing transcript is a loss.
	Talked bool `json:"talked"`
	// Cloned is set once /workspace is whole.
	Cloned bool `json:"cloned"`
	// Model and Effort are those of the running claude; Life is its terminal's.
	Model  string `json:"model"`
	Effort string `json:"effort"`
	Life   string `json:"life"`
	// StopAt is the newest request to interrupt that was carried out.
	StopAt time.Time `json:"stop_at,omitzero"`
	// Box is the Sandbox that is looked into, for a Session of that kind.
	Box string `json:"box,omitempty"`
	// Image is what its Sandbox is made of; "" for the machine's own system, or no Sandbox.
	Image string `json:"image,omitempty"`
	// Over is how large the volumes were when the Session was stopped for their size; 0 when they are below their limit.
	Over int64 `json:"over,omitempty"`
	// Devcontainer names the content of the devcontainer files that was last reported.
	Devcontainer string `json:"devcontainer,omitempty"`
}

// Record is one Session as the Runner remembers it.
type Record struct {
	Desired  wire.DesiredSession
	Local    Local
	Observed claudehub.Observed
}

// OpenState opens the state database in dir, making it if needed.
func OpenState(ctx context.Context, dir string) (*State, error) {
	path := filepath.Join(dir, "runner.db")
	db, err := sqlx.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// One connection: there is one writer, and reads are few.
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		_ = db.Close()
		return nil, claudehub.WithCause(claudehub.Internal, err,
			"The Runner's memory, %s, cannot be read. The Sessions' files are safe. Move that file away and start again: "+
				"the Runner then takes its Sessions up from the Hub.", path)
	}
	return &State{db}, nil
}

func prepare(ctx context.Context, db *sqlx.DB) error {
	var verdict string
	if err := db.GetContext(ctx, &verdict, "PRAGMA quick_check(1)"); err != nil {
		return err
	}
	if verdict != "ok" {
		return errors.New(verdict)
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db.DB, sub)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// Close closes the database.
func (s *State) Close() error { return s.db.Close() }

// LastSeq is the newest stream id whose message is in the database; 0 when there is none.
func (s *State) LastSeq(ctx context.Context) (int64, error) {
	var n int64
	err := s.db.GetContext(ctx, &n, "SELECT value FROM meta WHERE key = 'seq'")
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// Records returns every Session.
func (s *State) Records(ctx context.Context) ([]Record, error) {
	var rows []struct{ Desired, Local, Observed []byte }
	if err := s.db.SelectContext(ctx, &rows, "SELECT desired, local, observed FROM sessions ORDER BY id"); err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	out := make([]Record, len(rows))
	for i, r := range rows {
		err := errors.Join(json.Unmarshal(r.Desired, &out[i].Desired), json.Unmarshal(r.Local, &out[i].Local),
			json.Unmarshal(r.Observed, &out[i].Observed))
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
	}
	return out, nil
}

// SaveDesired stores desired states and the stream id that they came with, all or none; machine may be nil.
func (s *State) SaveDesired(ctx context.Context, seq int64, sessions []wire.DesiredSession, machine *wire.DesiredMachine) error {
	return s.tx(ctx, func(tx *sqlx.Tx) error {
		for _, d := range sessions {
			body, err := json.Marshal(d)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, desired, local, observed) VALUES (?, ?, '{}', '{}')
				ON CONFLICT (id) DO UPDATE SET desired = excluded.desired`, d.ID, body)
			if err != nil {
				return err
			}
		}
		if machine != nil {
			if err := noteTx(ctx, tx, noteMachine, machine); err != nil {
				return err
			}
		}
		return seqTx(ctx, tx, seq)
	})
}

func seqTx(ctx context.Context, tx *sqlx.Tx, seq int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('seq', ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, seq)
	return err
}

// saveWish changes the desired state of a Session without the Hub's word.
func (s *State) saveWish(ctx context.Context, d wire.DesiredSession) error {
	return s.update(ctx, "desired", d.ID, d)
}

// SaveLocal stores what the Runner itself knows of a Session.
func (s *State) SaveLocal(ctx context.Context, id claudehub.SessionID, l Local) error {
	return s.update(ctx, "local", id, l)
}

// SaveObserved stores what was observed last, so that a Runner that starts again does not report less than it knew.
func (s *State) SaveObserved(ctx context.Context, id claudehub.SessionID, o claudehub.Observed) error {
	return s.update(ctx, "observed", id, o)
}

// ForgetSession removes a Session with its prompts and what waits for the Hub of it.
func (s *State) ForgetSession(ctx context.Context, id claudehub.SessionID) error {
	return s.tx(ctx, func(tx *sqlx.Tx) error {
		for _, q := range []string{"DELETE FROM outbox WHERE session = ?", "DELETE FROM sessions WHERE id = ?"} {
			if _, err := tx.ExecContext(ctx, q, id); err != nil {
				return fmt.Errorf("forget session %s: %w", id, err)
			}
		}
		return nil
	})
}

func (s *State) update(ctx context.Context, column string, id claudehub.SessionID, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE sessions SET "+column+" = ? WHERE id = ?", body, id); err != nil {
		return fmt.Errorf("save %s of %s: %w", column, id, err)
	}
	return nil
}

func (s *State) tx(ctx context.Context, f func(*sqlx.Tx) error) error {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
