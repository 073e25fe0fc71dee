package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// SignIn is one browser that a person is signed in with, found by the hash of its cookie.
type SignIn struct {
	ID        string
	Hash      string
	Person    claudehub.PersonID
	UserAgent string
	Address   string
	Created   time.Time
	LastUsed  time.Time
}

type signInRow struct {
	ID        string             `db:"id"`
	Hash      string             `db:"hash"`
	Person    claudehub.PersonID `db:"person"`
	UserAgent string             `db:"user_agent"`
	Address   string             `db:"address"`
	Created   int64              `db:"created"`
	LastUsed  int64              `db:"last_used"`
}

const signInColumns = `s.id, s.hash, s.person, s.user_agent, s.address, s.created, s.last_used`

func (r signInRow) signIn() SignIn {
	return SignIn{ID: r.ID, Hash: r.Hash, Person: r.Person, UserAgent: r.UserAgent, Address: r.Address,
		Created: at(r.Created), LastUsed: at(r.LastUsed)}
}

// AddSignInLink stores a link by its hash.
func (q Q) AddSignInLink(ctx context.Context, hash string, p claudehub.PersonID, created, expires time.Time) error {
	_, err := q.exec(ctx, `INSERT INTO sign_in_links (hash, person, created, expires) VALUES (?, ?, ?, ?)`,
		hash, p, micros(created), micros(expires))
	return err
}

// UseSignInLink uses up a link that is unused and not expired, and tells whose it is; NotFound otherwise.
func (q Q) UseSignInLink(ctx context.Context, hash string, now time.Time) (claudehub.PersonID, error) {
	err := q.must(ctx, `UPDATE sign_in_links SET used = ? WHERE hash = ? AND used = 0 AND expires > ?`,
		micros(now), hash, micros(now))
	if err != nil {
		return "", err
	}
	var p claudehub.PersonID
	err = q.get(ctx, &p, `SELECT person FROM sign_in_links WHERE hash = ?`, hash)
	return p, err
}

// AddSignIn stores a sign-in.
func (q Q) AddSignIn(ctx context.Context, s SignIn) error {
	_, err := q.exec(ctx, `INSERT INTO sign_ins (id, hash, person, user_agent, address, created, last_used) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Hash, s.Person, s.UserAgent, s.Address, micros(s.Created), micros(s.LastUsed))
	return err
}

// SignInByHash finds a sign-in and its person.
func (q Q) SignInByHash(ctx context.Context, hash string) (SignIn, claudehub.Person, error) {
	var r struct {
		signInRow
		personOf
	}
	err := q.get(ctx, &r, `SELECT `+signInColumns+`, `+joinedPerson+`
		FROM sign_ins s JOIN people p ON p.id = s.person WHERE s.hash = ?`, hash)
	return r.signIn(), r.person(), err
}

// TouchSignIn moves the last use forward.
func (q Q) TouchSignIn(ctx context.Context, id string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE sign_ins SET last_used = ? WHERE id = ? AND last_used < ?`, micros(now), id, micros(now))
	return err
}

// SignIns lists a person's sign-ins, the last used first.
func (q Q) SignIns(ctx context.Context, p claudehub.PersonID) ([]SignIn, error) {
	var rows []signInRow
	err := q.all(ctx, &rows, `SELECT `+signInColumns+` FROM sign_ins s WHERE s.person = ? ORDER BY s.last_used DESC, s.id`, p)
	return convert(rows, signInRow.signIn), err
}

// DeleteSignIn ends one of a person's sign-ins.
func (q Q) DeleteSignIn(ctx context.Context, p claudehub.PersonID, id string) error {
	return q.must(ctx, `DELETE FROM sign_ins WHERE id = ? AND person = ?`, id, p)
}

// DeleteSignInByHash ends the sign-in with that cookie, if it is there.
func (q Q) DeleteSignInByHash(ctx context.Context, hash string) error {
	_, err := q.exec(ctx, `DELETE FROM sign_ins WHERE hash = ?`, hash)
	return err
}

// DeleteOldSignIns forgets sign-ins last used before one time, and links that expired before another.
func (q Q) DeleteOldSignIns(ctx context.Context, lastUsed, expired time.Time) error {
	if _, err := q.exec(ctx, `DELETE FROM sign_ins WHERE last_used < ?`, micros(lastUsed)); err != nil {
		return err
	}
	_, err := q.exec(ctx, `DELETE FROM sign_in_links WHERE expires < ?`, micros(expired))
	return err
}

func convert[R, T any](rows []R, f func(R) T) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = f(r)
	}
	return out
}
