package store

import (
	"context"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
)

// APIToken is a person's token for scripts, found by its hash.
type APIToken struct {
	claudehub.APIToken
	Person claudehub.PersonID
	Hash   string
}

type apiTokenRow struct {
	ID       string             `db:"id"`
	Hash     string             `db:"hash"`
	Person   claudehub.PersonID `db:"person"`
	Name     string             `db:"name"`
	Scopes   string             `db:"scopes"`
	Created  int64              `db:"created"`
	Expires  int64              `db:"expires"`
	LastUsed int64              `db:"last_used"`
	Address  string             `db:"address"`
}

const apiTokenColumns = `t.id, t.hash, t.person, t.name, t.scopes, t.created, t.expires, t.last_used, t.address`

func (r apiTokenRow) token() APIToken {
	scopes := []claudehub.Scope{}
	for s := range strings.FieldsSeq(r.Scopes) {
		scopes = append(scopes, claudehub.Scope(s))
	}
	return APIToken{Person: r.Person, Hash: r.Hash, APIToken: claudehub.APIToken{ID: r.ID, Name: r.Name, Scopes: scopes,
		Created: at(r.Created), Expires: at(r.Expires), LastUsed: at(r.LastUsed), Address: r.Address}}
}

// AddAPIToken stores a token.
func (q Q) AddAPIToken(ctx context.Context, t APIToken) error {
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	_, err := q.exec(ctx, `INSERT INTO api_tokens (id, hash, person, name, scopes, created, expires, last_used, address)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, t.ID, t.Hash, t.Person, t.Name, strings.Join(scopes, " "),
		micros(t.Created), micros(t.Expires), micros(t.LastUsed), t.Address)
	return err
}

// APITokenByHash finds a token and its person.
func (q Q) APITokenByHash(ctx context.Context, hash string) (APIToken, claudehub.Person, error) {
	var r struct {
		apiTokenRow
		personOf
	}
	err := q.get(ctx, &r, `SELECT `+apiTokenColumns+`, `+joinedPerson+`
		FROM api_tokens t JOIN people p ON p.id = t.person WHERE t.hash = ?`, hash)
	return r.token(), r.person(), err
}

// TouchAPIToken moves the last use forward.
func (q Q) TouchAPIToken(ctx context.Context, id, address string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE api_tokens SET last_used = ?, address = ? WHERE id = ? AND last_used < ?`, micros(now), address, id, micros(now))
	return err
}

// APITokens lists a person's tokens, the newest first.
func (q Q) APITokens(ctx context.Context, p claudehub.PersonID) ([]APIToken, error) {
	var rows []apiTokenRow
	err := q.all(ctx, &rows, `SELECT `+apiTokenColumns+` FROM api_tokens t WHERE t.person = ? ORDER BY t.created DESC, t.id DESC`, p)
	return convert(rows, apiTokenRow.token), err
}

// DeleteAPIToken ends one of a person's tokens.
func (q Q) DeleteAPIToken(ctx context.Context, p claudehub.PersonID, id string) error {
	return q.must(ctx, `DELETE FROM api_tokens WHERE id = ? AND person = ?`, id, p)
}

// DeleteOldAPITokens forgets tokens that expired before a time.
func (q Q) DeleteOldAPITokens(ctx context.Context, expired time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM api_tokens WHERE expires > 0 AND expires < ?`, micros(expired))
	return err
}

// SignOutEverywhere ends all that opens the Hub for a person but their Runners: browsers, tokens, links, and devices that
// they approved and that have not come for their token yet. It tells how many browsers and tokens there were.
func (q Q) SignOutEverywhere(ctx context.Context, p claudehub.PersonID) (browsers, tokens int, err error) {
	b, err := q.exec(ctx, `DELETE FROM sign_ins WHERE person = ?`, p)
	if err != nil {
		return 0, 0, err
	}
	t, err := q.exec(ctx, `DELETE FROM api_tokens WHERE person = ?`, p)
	if err != nil {
		return 0, 0, err
	}
	if _, err := q.exec(ctx, `DELETE FROM sign_in_links WHERE person = ? AND used = 0`, p); err != nil {
		return 0, 0, err
	}
	_, err = q.exec(ctx, `UPDATE devices SET state = 'denied' WHERE person = ? AND state = 'approved'`, p)
	return int(b), int(t), err
}
