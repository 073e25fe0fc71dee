package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// RunnerToken is what is known of a Runner's tokens, with its owner. Next is the hash of one that was given out and not
// used yet.
type RunnerToken struct {
	Runner   claudehub.RunnerID
	Hash     string
	Next     string
	Rotated  time.Time // when Next was given out
	Revoked  time.Time
	LastUsed time.Time
	Owner    claudehub.Person
}

type runnerTokenRow struct {
	Runner   claudehub.RunnerID `db:"id"`
	Hash     string             `db:"token_hash"`
	Next     string             `db:"next_hash"`
	Rotated  int64              `db:"rotated"`
	Revoked  int64              `db:"revoked"`
	LastUsed int64              `db:"last_used"`
	personOf
}

const selectRunnerToken = `SELECT r.id, r.token_hash, r.next_hash, r.rotated, r.revoked, r.last_used, ` + joinedPerson + `
	FROM runners r JOIN people p ON p.id = r.owner`

// RunnerByToken finds whose token that is, and what else is known of it.
func (q Q) RunnerByToken(ctx context.Context, hash string) (RunnerToken, error) {
	return q.runnerToken(ctx, selectRunnerToken+` WHERE r.token_hash = ? OR (r.next_hash = ? AND r.next_hash <> '')`, hash, hash)
}

// RunnerTokenOf finds what is known of a Runner's tokens.
func (q Q) RunnerTokenOf(ctx context.Context, id claudehub.RunnerID) (RunnerToken, error) {
	return q.runnerToken(ctx, selectRunnerToken+` WHERE r.id = ?`, id)
}

func (q Q) runnerToken(ctx context.Context, query string, args ...any) (RunnerToken, error) {
	var r runnerTokenRow
	err := q.get(ctx, &r, query, args...)
	return RunnerToken{Runner: r.Runner, Hash: r.Hash, Next: r.Next, Rotated: at(r.Rotated), Revoked: at(r.Revoked),
		LastUsed: at(r.LastUsed), Owner: r.person()}, err
}

// SetRunnerToken makes another token the Runner's, revoked or not; the old ones open nothing from now on.
func (q Q) SetRunnerToken(ctx context.Context, id claudehub.RunnerID, hash string) error {
	return q.must(ctx, `UPDATE runners SET token_hash = ?, next_hash = '', rotated = 0, revoked = 0 WHERE id = ?`, hash, id)
}

// SetNextRunnerToken gives a Runner a token beside its own; one that was given out before and never used is dead.
func (q Q) SetNextRunnerToken(ctx context.Context, id claudehub.RunnerID, hash string, now time.Time) error {
	return q.must(ctx, `UPDATE runners SET next_hash = ?, rotated = ? WHERE id = ? AND revoked = 0`, hash, micros(now), id)
}

// PromoteRunnerToken makes the next token the only one: it was used. It may have happened already.
func (q Q) PromoteRunnerToken(ctx context.Context, id claudehub.RunnerID, hash string) error {
	_, err := q.exec(ctx, `UPDATE runners SET token_hash = next_hash, next_hash = '', rotated = 0 WHERE id = ? AND next_hash = ? AND revoked = 0`, id, hash)
	return err
}

// RevokeRunnerToken ends all tokens of a Runner.
func (q Q) RevokeRunnerToken(ctx context.Context, id claudehub.RunnerID, now time.Time) error {
	return q.must(ctx, `UPDATE runners SET token_hash = id, next_hash = '', rotated = 0, revoked = ? WHERE id = ?`, micros(now), id)
}

// TouchRunner moves the last use of a Runner's token forward.
func (q Q) TouchRunner(ctx context.Context, id claudehub.RunnerID, address string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE runners SET last_used = ?, address = ? WHERE id = ? AND last_used < ?`, micros(now), address, id, micros(now))
	return err
}
