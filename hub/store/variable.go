package store

import (
	"context"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
)

// Scope says what a Variable belongs to.
type Scope string

// The scopes.
const (
	ScopeEnvironment Scope = "environment"
	ScopeRepo        Scope = "repo"
)

// Variable is a Variable as it is kept: its value sealed.
type Variable struct {
	Owner  claudehub.PersonID
	Scope  Scope
	Target string // an Environment's id, or a repository's name
	claudehub.Variable
	Sealed   []byte
	Revision string
}

type variableRow struct {
	Owner    claudehub.PersonID `db:"owner"`
	Scope    Scope              `db:"scope"`
	Target   string             `db:"target"`
	Name     string             `db:"name"`
	Secret   int                `db:"secret"`
	Sealed   []byte             `db:"sealed"`
	Bytes    int                `db:"bytes"`
	Revision string             `db:"revision"`
	Author   claudehub.PersonID `db:"author"`
	Updated  int64              `db:"updated"`
}

const variableColumns = `owner, scope, target, name, secret, sealed, bytes, revision, author, updated`

func (r variableRow) variable() Variable {
	return Variable{Owner: r.Owner, Scope: r.Scope, Target: r.Target, Sealed: r.Sealed, Revision: r.Revision,
		Variable: claudehub.Variable{Name: r.Name, Secret: r.Secret != 0, Bytes: r.Bytes, By: r.Author, Updated: at(r.Updated)}}
}

// PutVariable stores a Variable in place of one of that name.
func (q Q) PutVariable(ctx context.Context, v Variable) error {
	_, err := q.exec(ctx, `INSERT INTO variables (`+variableColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, scope, target, name) DO UPDATE SET secret = excluded.secret, sealed = excluded.sealed,
		bytes = excluded.bytes, revision = excluded.revision, author = excluded.author, updated = excluded.updated`,
		v.Owner, v.Scope, v.Target, v.Name, number(v.Secret), v.Sealed, v.Bytes, v.Revision, v.By, micros(v.Updated))
	return err
}

// DeleteVariable removes a Variable; NotFound when there is none of that name.
func (q Q) DeleteVariable(ctx context.Context, owner claudehub.PersonID, scope Scope, target, name string) error {
	return q.must(ctx, `DELETE FROM variables WHERE owner = ? AND scope = ? AND target = ? AND name = ?`, owner, scope, target, name)
}

// Variables lists those of one target, by name.
func (q Q) Variables(ctx context.Context, owner claudehub.PersonID, scope Scope, target string) ([]Variable, error) {
	return q.manyVariables(ctx, `SELECT `+variableColumns+` FROM variables WHERE owner = ? AND scope = ? AND target = ? ORDER BY name`,
		owner, scope, target)
}

// AllVariables lists every Variable of the database, for sealing them anew. They stay as they are until the transaction
// ends.
func (q Q) AllVariables(ctx context.Context) ([]Variable, error) {
	return q.manyVariables(ctx, `SELECT `+variableColumns+` FROM variables ORDER BY owner, scope, target, name`+q.row)
}

func (q Q) manyVariables(ctx context.Context, query string, args ...any) ([]Variable, error) {
	var rows []variableRow
	err := q.all(ctx, &rows, query, args...)
	return convert(rows, variableRow.variable), err
}

// SetSealed stores the same value sealed anew.
func (q Q) SetSealed(ctx context.Context, v Variable) error {
	return q.must(ctx, `UPDATE variables SET sealed = ? WHERE owner = ? AND scope = ? AND target = ? AND name = ?`,
		v.Sealed, v.Owner, v.Scope, v.Target, v.Name)
}

// VariableMark says in which state a Variable is, and nothing of its value.
type VariableMark struct {
	Owner    claudehub.PersonID `db:"owner"`
	Scope    Scope              `db:"scope"`
	Target   string             `db:"target"`
	Name     string             `db:"name"`
	Revision string             `db:"revision"`
}

// VariableMarks lists the marks of several targets of one person.
func (q Q) VariableMarks(ctx context.Context, owner claudehub.PersonID, targets []string) ([]VariableMark, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	query, args, err := sqlx.In(`SELECT owner, scope, target, name, revision FROM variables WHERE owner = ? AND target IN (?)`, owner, targets)
	if err != nil {
		return nil, fold(err)
	}
	var out []VariableMark
	err = q.all(ctx, &out, query, args...)
	return out, err
}

// RepoCount is how many Variables a repository has.
type RepoCount struct {
	Repo      string `db:"target"`
	Variables int    `db:"n"`
}

// VariableRepos lists the repositories that a person has Variables for.
func (q Q) VariableRepos(ctx context.Context, owner claudehub.PersonID) ([]RepoCount, error) {
	var out []RepoCount
	err := q.all(ctx, &out, `SELECT target, count(*) AS n FROM variables WHERE owner = ? AND scope = ? GROUP BY target ORDER BY target`, owner, ScopeRepo)
	return out, err
}

// GitURLs lists the different sources of a person's Sessions.
func (q Q) GitURLs(ctx context.Context, creator claudehub.PersonID) ([]string, error) {
	var out []string
	err := q.all(ctx, &out, `SELECT DISTINCT git_url FROM sessions WHERE creator = ? AND git_url <> '' AND deleted = 0`, creator)
	return out, err
}

// KeysetCheck is what tells the right keyset; NotFound when nothing was ever sealed here.
func (q Q) KeysetCheck(ctx context.Context) ([]byte, error) {
	var sealed []byte
	err := q.get(ctx, &sealed, `SELECT sealed FROM keyset_check WHERE id = 1`)
	return sealed, err
}

// AddKeysetCheck stores the first check; Conflict when there is one.
func (q Q) AddKeysetCheck(ctx context.Context, sealed []byte) error {
	_, err := q.exec(ctx, `INSERT INTO keyset_check (id, sealed) VALUES (1, ?)`, sealed)
	return err
}

// SetKeysetCheck stores the check sealed anew.
func (q Q) SetKeysetCheck(ctx context.Context, sealed []byte) error {
	return q.must(ctx, `UPDATE keyset_check SET sealed = ? WHERE id = 1`, sealed)
}

// ForgetKeyset deletes all that was sealed: every Variable, people's GitHub tokens, and the check. It tells how many
// Variables there were.
func (q Q) ForgetKeyset(ctx context.Context) (variables int, err error) {
	n, err := q.exec(ctx, `DELETE FROM variables`)
	if err != nil {
		return 0, err
	}
	if _, err := q.exec(ctx, `UPDATE people SET credential = NULL`); err != nil {
		return 0, err
	}
	_, err = q.exec(ctx, `DELETE FROM keyset_check`)
	return int(n), err
}
