package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

type environmentRow struct {
	ID       claudehub.EnvironmentID `db:"id"`
	Owner    claudehub.PersonID      `db:"owner"`
	Name     string                  `db:"name"`
	Version  int                     `db:"version"`
	Recipe   string                  `db:"recipe"`
	Archived int                     `db:"archived"`
	Created  int64                   `db:"created"`
	Updated  int64                   `db:"updated"`
}

const selectEnvironment = `SELECT e.id, e.owner, e.name, e.version, v.recipe, e.archived, e.created, e.updated
	FROM environments e JOIN environment_versions v ON v.environment = e.id AND v.version = e.version`

func (r environmentRow) environment() (claudehub.Environment, error) {
	out := claudehub.Environment{ID: r.ID, Owner: r.Owner, Name: r.Name, Version: r.Version, Archived: r.Archived != 0,
		Created: at(r.Created), Updated: at(r.Updated)}
	return out, decodeRecipe(r.Recipe, &out.Recipe, r.ID)
}

func decodeRecipe(s string, to *claudehub.Recipe, id claudehub.EnvironmentID) error {
	err := decode(s, to, "environment "+string(id))
	if to.Allow == nil {
		to.Allow = []string{}
	}
	return err
}

// LockPerson keeps other writers from what a person has, until the transaction ends, where that is counted.
func (q Q) LockPerson(ctx context.Context, id claudehub.PersonID) error {
	var found claudehub.PersonID
	return q.get(ctx, &found, `SELECT id FROM people WHERE id = ?`+q.row, id)
}

// AddEnvironment stores an Environment with its first version.
func (q Q) AddEnvironment(ctx context.Context, e claudehub.Environment) error {
	_, err := q.exec(ctx, `INSERT INTO environments (id, owner, name, version, archived, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Owner, e.Name, e.Version, number(e.Archived), micros(e.Created), micros(e.Updated))
	if err != nil {
		return err
	}
	return q.AddEnvironmentVersion(ctx, e.ID, claudehub.EnvironmentVersion{Version: e.Version, Recipe: e.Recipe, By: e.Owner, Created: e.Created})
}

// AddEnvironmentVersion stores a recipe as it was saved; Conflict when there is that version already.
func (q Q) AddEnvironmentVersion(ctx context.Context, id claudehub.EnvironmentID, v claudehub.EnvironmentVersion) error {
	recipe, err := encode(v.Recipe)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO environment_versions (environment, version, recipe, author, created) VALUES (?, ?, ?, ?, ?)`,
		id, v.Version, recipe, v.By, micros(v.Created))
	return err
}

// SetEnvironment stores an Environment's name, newest version and place; its recipe is its newest version's.
func (q Q) SetEnvironment(ctx context.Context, e claudehub.Environment) error {
	return q.must(ctx, `UPDATE environments SET name = ?, version = ?, archived = ?, updated = ? WHERE id = ?`,
		e.Name, e.Version, number(e.Archived), micros(e.Updated), e.ID)
}

// Environment finds an Environment.
func (q Q) Environment(ctx context.Context, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	var r environmentRow
	if err := q.get(ctx, &r, selectEnvironment+` WHERE e.id = ?`, id); err != nil {
		return claudehub.Environment{}, err
	}
	return r.environment()
}

// LockEnvironment finds an Environment and keeps other writers from it until the transaction ends.
func (q Q) LockEnvironment(ctx context.Context, id claudehub.EnvironmentID) (claudehub.Environment, error) {
	var found claudehub.EnvironmentID
	if err := q.get(ctx, &found, `SELECT id FROM environments WHERE id = ?`+q.row, id); err != nil {
		return claudehub.Environment{}, err
	}
	return q.Environment(ctx, id) // a look of its own: a joined row that was waited for would be the old one
}

// Environments lists a person's Environments, archived ones or the others, by name.
func (q Q) Environments(ctx context.Context, owner claudehub.PersonID, archived bool) ([]claudehub.Environment, error) {
	var rows []environmentRow
	err := q.all(ctx, &rows, selectEnvironment+` WHERE e.owner = ? AND e.archived = ? ORDER BY e.name, e.id`, owner, number(archived))
	if err != nil {
		return nil, err
	}
	return convertAll(rows, environmentRow.environment)
}

// CountEnvironments counts a person's Environments that are not archived.
func (q Q) CountEnvironments(ctx context.Context, owner claudehub.PersonID) (int, error) {
	var n int
	err := q.get(ctx, &n, `SELECT count(*) FROM environments WHERE owner = ? AND archived = 0`, owner)
	return n, err
}

type versionRow struct {
	Environment claudehub.EnvironmentID `db:"environment"`
	Version     int                     `db:"version"`
	Recipe      string                  `db:"recipe"`
	Author      claudehub.PersonID      `db:"author"`
	Created     int64                   `db:"created"`
}

const versionColumns = `environment, version, recipe, author, created`

func (r versionRow) version() (claudehub.EnvironmentVersion, error) {
	out := claudehub.EnvironmentVersion{Version: r.Version, By: r.Author, Created: at(r.Created)}
	return out, decodeRecipe(r.Recipe, &out.Recipe, r.Environment)
}

// EnvironmentVersion finds a recipe as it was saved.
func (q Q) EnvironmentVersion(ctx context.Context, id claudehub.EnvironmentID, version int) (claudehub.EnvironmentVersion, error) {
	var r versionRow
	err := q.get(ctx, &r, `SELECT `+versionColumns+` FROM environment_versions WHERE environment = ? AND version = ?`, id, version)
	if err != nil {
		return claudehub.EnvironmentVersion{}, err
	}
	return r.version()
}

// EnvironmentVersions lists an Environment's versions, the newest first.
func (q Q) EnvironmentVersions(ctx context.Context, id claudehub.EnvironmentID) ([]claudehub.EnvironmentVersion, error) {
	var rows []versionRow
	err := q.all(ctx, &rows, `SELECT `+versionColumns+` FROM environment_versions WHERE environment = ? ORDER BY version DESC`, id)
	if err != nil {
		return nil, err
	}
	return convertAll(rows, versionRow.version)
}

// PruneEnvironmentVersions forgets versions up to one that no Session runs on and no open build makes.
func (q Q) PruneEnvironmentVersions(ctx context.Context, id claudehub.EnvironmentID, upTo int) error {
	_, err := q.exec(ctx, `DELETE FROM environment_versions WHERE environment = ? AND version <= ?
		AND version NOT IN (SELECT environment_version FROM sessions WHERE environment = ?)
		AND version NOT IN (SELECT version FROM builds WHERE environment = ? AND `+openBuild+`)
		AND version <> (SELECT version FROM environments WHERE id = ?)`, id, upTo, id, id, id)
	return err
}

// Seed is a devcontainer that a Runner found in a clone.
type Seed struct {
	Owner   claudehub.PersonID `db:"owner"`
	Repo    string             `db:"repo"`
	Path    string             `db:"path"`
	Body    string             `db:"body"` // JSON
	Updated time.Time          `db:"-"`
	Micros  int64              `db:"updated"`
}

// PutSeed stores what was found, unless something newer is there.
func (q Q) PutSeed(ctx context.Context, s Seed) error {
	_, err := q.exec(ctx, `INSERT INTO seeds (owner, repo, path, body, updated) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (owner, repo, path) DO UPDATE SET body = excluded.body, updated = excluded.updated WHERE excluded.updated >= seeds.updated`,
		s.Owner, s.Repo, s.Path, s.Body, micros(s.Updated))
	return err
}

// Seeds lists a person's seeds, without their bodies, by repository and path.
func (q Q) Seeds(ctx context.Context, owner claudehub.PersonID) ([]Seed, error) {
	var rows []Seed
	err := q.all(ctx, &rows, `SELECT owner, repo, path, '' AS body, updated FROM seeds WHERE owner = ? ORDER BY repo, path`, owner)
	for i := range rows {
		rows[i].Updated, rows[i].Micros = at(rows[i].Micros), 0
	}
	return rows, err
}

// Seed finds a seed; with an empty path the one whose path is the shortest.
func (q Q) Seed(ctx context.Context, owner claudehub.PersonID, repo, path string) (Seed, error) {
	var s Seed
	err := q.get(ctx, &s, `SELECT owner, repo, path, body, updated FROM seeds WHERE owner = ? AND repo = ? AND (path = ? OR ? = '')
		ORDER BY length(path), path LIMIT 1`, owner, repo, path, path)
	s.Updated, s.Micros = at(s.Micros), 0
	return s, err
}

// PruneSeeds keeps a person's newest.
func (q Q) PruneSeeds(ctx context.Context, owner claudehub.PersonID, keep int) error {
	_, err := q.exec(ctx, `DELETE FROM seeds WHERE owner = ? AND updated < (SELECT min(updated) FROM
		(SELECT updated FROM seeds WHERE owner = ? ORDER BY updated DESC LIMIT ?) AS newest)`, owner, owner, keep)
	return err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func convertAll[R, T any](rows []R, to func(R) (T, error)) ([]T, error) {
	out := make([]T, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = to(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// EnvironmentOwner tells whose an Environment is.
func (q Q) EnvironmentOwner(ctx context.Context, id claudehub.EnvironmentID) (claudehub.PersonID, error) {
	var owner claudehub.PersonID
	err := q.get(ctx, &owner, `SELECT owner FROM environments WHERE id = ?`, id)
	return owner, err
}

// EnvironmentName tells how an Environment is called now.
func (q Q) EnvironmentName(ctx context.Context, id claudehub.EnvironmentID) (string, error) {
	var name string
	err := q.get(ctx, &name, `SELECT name FROM environments WHERE id = ?`, id)
	return name, err
}
