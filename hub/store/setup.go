package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// SetSetupCode stores the code that makes the first admin, in place of any before it.
func (q Q) SetSetupCode(ctx context.Context, hash string, now time.Time) error {
	_, err := q.exec(ctx, `INSERT INTO setup_code (id, hash, created, used, used_by) VALUES (1, ?, ?, 0, '')
		ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, created = excluded.created, used = 0, used_by = ''`, hash, micros(now))
	return err
}

// UseSetupCode uses the code up; NotFound when it is another one, or was used.
func (q Q) UseSetupCode(ctx context.Context, hash string, by claudehub.PersonID, now time.Time) error {
	return q.must(ctx, `UPDATE setup_code SET used = ?, used_by = ? WHERE id = 1 AND hash = ? AND used = 0`, micros(now), by, hash)
}

// SetupWaits tells whether there is a code that nobody used, and no admin.
func (q Q) SetupWaits(ctx context.Context) (bool, error) {
	var n int
	err := q.get(ctx, &n, `SELECT COUNT(*) FROM setup_code WHERE used = 0
		AND NOT EXISTS (SELECT 1 FROM people WHERE role = 'admin' AND `+active+` AND github <> 0)`)
	return n > 0, err
}
