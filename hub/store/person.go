package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

type personRow struct {
	ID      claudehub.PersonID `db:"id"`
	Login   string             `db:"login"`
	Name    string             `db:"name"`
	Created int64              `db:"created"`
	GitHub  int64              `db:"github"`
	Avatar  string             `db:"avatar"`
	Role    claudehub.Role     `db:"role"`
	Seen    int64              `db:"seen"`
	Removed int64              `db:"removed"`
}

const (
	personColumns = `id, login, name, created, github, avatar, role, seen, removed`
	// joinedPerson are the same columns of p, for a query that finds a credential with the person whose it is. personOf
	// reads them.
	joinedPerson = `p.id AS p_id, p.login AS p_login, p.name AS p_name, p.created AS p_created, p.github AS p_github,
	p.avatar AS p_avatar, p.role AS p_role, p.seen AS p_seen, p.removed AS p_removed`
	// active people are those that the Hub still has room for.
	active = `removed = 0`
)

func (r personRow) person() claudehub.Person {
	return claudehub.Person{ID: r.ID, Login: r.Login, Name: r.Name, Avatar: r.Avatar, Role: r.Role, GitHub: r.GitHub,
		Created: at(r.Created), Seen: at(r.Seen), Removed: at(r.Removed)}
}

type personOf struct {
	ID      claudehub.PersonID `db:"p_id"`
	Login   string             `db:"p_login"`
	Name    string             `db:"p_name"`
	Created int64              `db:"p_created"`
	GitHub  int64              `db:"p_github"`
	Avatar  string             `db:"p_avatar"`
	Role    claudehub.Role     `db:"p_role"`
	Seen    int64              `db:"p_seen"`
	Removed int64              `db:"p_removed"`
}

func (r personOf) person() claudehub.Person { return personRow(r).person() }

// AddPerson stores a person unless one with that login, or that id at GitHub, is there.
func (q Q) AddPerson(ctx context.Context, p claudehub.Person) error {
	if p.Role == "" {
		p.Role = claudehub.RoleMember
	}
	_, err := q.exec(ctx, `INSERT INTO people (`+personColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		p.ID, p.Login, p.Name, micros(p.Created), p.GitHub, p.Avatar, p.Role, micros(p.Seen), micros(p.Removed))
	return err
}

// Person finds a person.
func (q Q) Person(ctx context.Context, id claudehub.PersonID) (claudehub.Person, error) {
	return q.onePerson(ctx, `SELECT `+personColumns+` FROM people WHERE id = ?`, id)
}

// PersonByLogin finds a person by the login as it is written.
func (q Q) PersonByLogin(ctx context.Context, login string) (claudehub.Person, error) {
	return q.onePerson(ctx, `SELECT `+personColumns+` FROM people WHERE login = ?`, login)
}

// LockIdentity keeps other writers from a person and from whoever has the login, until the transaction ends. It is the
// first thing where a login may change hands, and the order is always the same: so no two writers wait for each other.
func (q Q) LockIdentity(ctx context.Context, github int64, login string) error {
	var found []claudehub.PersonID
	return q.all(ctx, &found, `SELECT id FROM people WHERE github = ? OR lower(login) = lower(?) ORDER BY id`+q.row, github, login)
}

// LockPersonByGitHub finds a person by GitHub's numeric id, and keeps other writers from them until the transaction ends.
func (q Q) LockPersonByGitHub(ctx context.Context, id int64) (claudehub.Person, error) {
	return q.onePerson(ctx, `SELECT `+personColumns+` FROM people WHERE github = ? AND github <> 0`+q.row, id)
}

// LocalPerson finds the one person of local mode.
func (q Q) LocalPerson(ctx context.Context) (claudehub.Person, error) {
	return q.onePerson(ctx, `SELECT `+personColumns+` FROM people WHERE github = 0
		ORDER BY CASE WHEN role = 'admin' THEN 0 ELSE 1 END, created, id LIMIT 1`)
}

func (q Q) onePerson(ctx context.Context, query string, args ...any) (claudehub.Person, error) {
	var r personRow
	err := q.get(ctx, &r, query, args...)
	return r.person(), err
}

// People lists everybody, by login.
func (q Q) People(ctx context.Context) ([]claudehub.Person, error) {
	var rows []personRow
	err := q.all(ctx, &rows, `SELECT `+personColumns+` FROM people ORDER BY lower(login), id`)
	return convert(rows, personRow.person), err
}

// LockAdmins finds who administers the Hub, and keeps other writers from them until the transaction ends. The person of
// local mode counts there alone.
func (q Q) LockAdmins(ctx context.Context, local bool) ([]claudehub.PersonID, error) {
	var out []claudehub.PersonID
	err := q.all(ctx, &out, `SELECT id FROM people WHERE role = 'admin' AND `+active+` AND (github <> 0 OR ? = 1) ORDER BY id`+q.row, number(local))
	return out, err
}

// FreeLogin takes a login from everybody else who has it: it changed hands at GitHub, and the Hub has not heard yet what
// they are called now. No login has a #.
func (q Q) FreeLogin(ctx context.Context, login string, of claudehub.PersonID) error {
	_, err := q.exec(ctx, `UPDATE people SET login = login || '#' || CAST(github AS TEXT) WHERE lower(login) = lower(?) AND id <> ?`, login, of)
	return err
}

// SetIdentity stores what GitHub says of a person.
func (q Q) SetIdentity(ctx context.Context, p claudehub.Person) error {
	return q.must(ctx, `UPDATE people SET login = ?, name = ?, avatar = ? WHERE id = ?`, p.Login, p.Name, p.Avatar, p.ID)
}

// SetRole makes a person an admin or a member.
func (q Q) SetRole(ctx context.Context, id claudehub.PersonID, role claudehub.Role) error {
	return q.must(ctx, `UPDATE people SET role = ? WHERE id = ?`, role, id)
}

// SetRemoved notes since when the Hub has no room for a person; the zero time is that it has.
func (q Q) SetRemoved(ctx context.Context, id claudehub.PersonID, since time.Time) error {
	return q.must(ctx, `UPDATE people SET removed = ? WHERE id = ?`, micros(since), id)
}

// TouchPerson moves forward when a person was last here.
func (q Q) TouchPerson(ctx context.Context, id claudehub.PersonID, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE people SET seen = ? WHERE id = ? AND seen < ?`, micros(now), id, micros(now))
	return err
}
