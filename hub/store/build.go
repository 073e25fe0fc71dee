package store

import (
	"context"
	"slices"
	"time"

	"claude-hub/internal/claudehub"
)

// Build is a Build with what only Hub and Runner know of it.
type Build struct {
	claudehub.Build
	Again bool // also when an image of the recipe is there
}

type buildRow struct {
	ID          claudehub.BuildID       `db:"id"`
	Environment claudehub.EnvironmentID `db:"environment"`
	Version     int                     `db:"version"`
	Hash        string                  `db:"hash"`
	Runner      claudehub.RunnerID      `db:"runner"`
	Author      claudehub.PersonID      `db:"author"`
	State       claudehub.BuildState    `db:"state"`
	Cancelling  int                     `db:"cancelling"`
	Again       int                     `db:"again"`
	Steps       string                  `db:"steps"`
	Failure     string                  `db:"failure"`
	Line        int                     `db:"line"`
	Kept        int64                   `db:"kept"`
	LogBytes    int64                   `db:"log_bytes"`
	Created     int64                   `db:"created"`
	Updated     int64                   `db:"updated"`
}

const (
	buildColumns = `id, environment, version, hash, runner, author, state, cancelling, again, steps, failure, line, kept,
	log_bytes, created, updated`
	openBuild = `state IN ('queued', 'building')`
)

func (r buildRow) build() (Build, error) {
	out := Build{Again: r.Again != 0, Build: claudehub.Build{ID: r.ID, Environment: r.Environment, Version: r.Version, Hash: r.Hash,
		Runner: r.Runner, By: r.Author, State: r.State, Cancelling: r.Cancelling != 0, Line: r.Line, Kept: at(r.Kept),
		LogBytes: r.LogBytes, Created: at(r.Created), Updated: at(r.Updated)}}
	if r.Failure != "" {
		if err := decode(r.Failure, &out.Failure, "build "+string(r.ID)); err != nil {
			return out, err
		}
	}
	return out, decode(r.Steps, &out.Steps, "build "+string(r.ID))
}

func buildTexts(b Build) (steps, failure string, err error) {
	if b.Steps == nil {
		b.Steps = []claudehub.BuildStep{}
	}
	if steps, err = encode(b.Steps); err != nil || b.Failure == nil {
		return steps, "", err
	}
	failure, err = encode(b.Failure)
	return steps, failure, err
}

// AddBuild stores a Build.
func (q Q) AddBuild(ctx context.Context, b Build) error {
	steps, failure, err := buildTexts(b)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO builds (`+buildColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		b.ID, b.Environment, b.Version, b.Hash, b.Runner, b.By, b.State, number(b.Cancelling), number(b.Again), steps, failure,
		b.Line, micros(b.Kept), b.LogBytes, micros(b.Created), micros(b.Updated))
	return err
}

// SetBuild stores how far a Build has come; its log has a way of its own.
func (q Q) SetBuild(ctx context.Context, b Build) error {
	steps, failure, err := buildTexts(b)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE builds SET state = ?, cancelling = ?, steps = ?, failure = ?, line = ?, kept = ?, updated = ? WHERE id = ?`,
		b.State, number(b.Cancelling), steps, failure, b.Line, micros(b.Kept), micros(b.Updated), b.ID)
}

// Build finds a Build.
func (q Q) Build(ctx context.Context, id claudehub.BuildID) (Build, error) {
	return q.oneBuild(ctx, `SELECT `+buildColumns+` FROM builds WHERE id = ?`, id)
}

// LockBuild finds a Build and keeps other writers from it until the transaction ends.
func (q Q) LockBuild(ctx context.Context, id claudehub.BuildID) (Build, error) {
	return q.oneBuild(ctx, `SELECT `+buildColumns+` FROM builds WHERE id = ?`+q.row, id)
}

// OpenBuildOf finds a Build of a recipe on a Runner that is not final and not being cancelled.
func (q Q) OpenBuildOf(ctx context.Context, runner claudehub.RunnerID, hash string) (Build, error) {
	return q.oneBuild(ctx, `SELECT `+buildColumns+` FROM builds WHERE runner = ? AND hash = ? AND `+openBuild+` AND cancelling = 0
		ORDER BY created, id LIMIT 1`, runner, hash)
}

func (q Q) oneBuild(ctx context.Context, query string, args ...any) (Build, error) {
	var r buildRow
	if err := q.get(ctx, &r, query, args...); err != nil {
		return Build{}, err
	}
	return r.build()
}

// OpenBuilds lists a Runner's Builds that are not final, the oldest first.
func (q Q) OpenBuilds(ctx context.Context, runner claudehub.RunnerID) ([]Build, error) {
	return q.manyBuilds(ctx, `SELECT `+buildColumns+` FROM builds WHERE runner = ? AND `+openBuild+` ORDER BY created, id`, runner)
}

// Builds lists an Environment's newest Builds, the newest first.
func (q Q) Builds(ctx context.Context, environment claudehub.EnvironmentID, limit int) ([]Build, error) {
	return q.manyBuilds(ctx, `SELECT `+buildColumns+` FROM builds WHERE environment = ? ORDER BY created DESC, id DESC LIMIT ?`, environment, limit)
}

func (q Q) manyBuilds(ctx context.Context, query string, args ...any) ([]Build, error) {
	var rows []buildRow
	if err := q.all(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	return convertAll(rows, buildRow.build)
}

// PruneBuilds keeps an Environment's newest Builds, and the logs of the newest of them. What is not final stays, and so
// does what a Session looks into.
func (q Q) PruneBuilds(ctx context.Context, environment claudehub.EnvironmentID, builds, logs int) error {
	const old = `environment = ? AND NOT ` + openBuild + ` AND id NOT IN
		(SELECT id FROM (SELECT id FROM builds WHERE environment = ? ORDER BY created DESC, id DESC LIMIT ?) AS newest)`
	_, err := q.exec(ctx, `DELETE FROM build_log WHERE build IN (SELECT id FROM builds WHERE `+old+`)`, environment, environment, logs)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `DELETE FROM builds WHERE `+old+` AND id NOT IN (SELECT build FROM sessions WHERE build <> '')`,
		environment, environment, builds)
	return err
}

// PruneBuildLogs forgets the logs of final Builds that ended before a time.
func (q Q) PruneBuildLogs(ctx context.Context, before time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM build_log WHERE build IN (SELECT id FROM builds WHERE NOT `+openBuild+` AND updated < ?)`, micros(before))
	return err
}

// AppendBuildLog puts bytes at the end of a Build's log, which is at start. The Build has to be locked.
func (q Q) AppendBuildLog(ctx context.Context, id claudehub.BuildID, start int64, data []byte) error {
	var last LogChunk
	err := q.get(ctx, &last, `SELECT start, data FROM build_log WHERE build = ? ORDER BY start DESC LIMIT 1`, id)
	if err != nil && claudehub.CodeOf(err) != claudehub.NotFound {
		return err
	}
	if err == nil && last.Start+int64(len(last.Data)) == start && len(last.Data)+len(data) <= logChunk {
		err = q.must(ctx, `UPDATE build_log SET data = ? WHERE build = ? AND start = ?`, slices.Concat(last.Data, data), id, last.Start)
	} else {
		_, err = q.exec(ctx, `INSERT INTO build_log (build, start, data) VALUES (?, ?, ?)`, id, start, data)
	}
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE builds SET log_bytes = ? WHERE id = ?`, start+int64(len(data)), id)
}

// logChunk is the size up to which a part of a log grows, so that a log of many small pieces is not as many rows.
const logChunk = 64 << 10

// LogChunk is a part of a Build's log.
type LogChunk struct {
	Start int64  `db:"start"`
	Data  []byte `db:"data"`
}

// BuildLog reads parts of a Build's log from the one that holds an offset, or comes after it, on.
func (q Q) BuildLog(ctx context.Context, id claudehub.BuildID, from int64, limit int) ([]LogChunk, error) {
	var out []LogChunk
	err := q.all(ctx, &out, `SELECT start, data FROM build_log WHERE build = ? AND start >=
		coalesce((SELECT max(start) FROM build_log WHERE build = ? AND start <= ?), 0) ORDER BY start LIMIT ?`, id, id, from, limit)
	return out, err
}
