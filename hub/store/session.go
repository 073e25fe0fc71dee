package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// Session is a Session with what only Hub and Runner know of it.
type Session struct {
	claudehub.Session
	// Seq is the number of the last change of its desired state, in its Runner's log.
	Seq          int64
	Conversation int64
	StopAt       time.Time
	// DesiredBy is who last changed what is desired of it.
	DesiredBy claudehub.PersonID
	Request   string    // the client's key for its creation
	Deleted   time.Time // when the Runner had deleted it
	// LinkHash is the hash of the link that lets its holder watch; empty when there is none.
	LinkHash    string
	LinkCreated time.Time
}

type sessionRow struct {
	ID           claudehub.SessionID `db:"id"`
	Title        string              `db:"title"`
	Creator      claudehub.PersonID  `db:"creator"`
	Runner       claudehub.RunnerID  `db:"runner"`
	GitURL       string              `db:"git_url"`
	Branch       string              `db:"branch"`
	Desired      claudehub.Desired   `db:"desired"`
	Model        string              `db:"model"`
	Effort       string              `db:"effort"`
	Generation   int64               `db:"generation"`
	Conversation int64               `db:"conversation"`
	StopAt       int64               `db:"stop_at"`
	Seq          int64               `db:"seq"`
	Observed     string              `db:"observed"`
	Request      string              `db:"request"`
	Created      int64               `db:"created"`
	Updated      int64               `db:"updated"`

	Kind        claudehub.Kind          `db:"kind"`
	Environment claudehub.EnvironmentID `db:"environment"`
	Version     int                     `db:"environment_version"`
	Build       claudehub.BuildID       `db:"build"`
	Forwards    string                  `db:"forwards"`
	Deleted     int64                   `db:"deleted"`

	Everyone    int    `db:"everyone"`
	LinkHash    string `db:"link_hash"`
	LinkCreated int64  `db:"link_created"`

	DesiredBy claudehub.PersonID `db:"desired_by"`

	EnvironmentName string `db:"environment_name"`
}

const (
	storedColumns = `id, title, creator, runner, git_url, branch, desired, model, effort, generation, conversation,
	stop_at, seq, observed, request, created, updated, kind, environment, environment_version, build, forwards, deleted, desired_by`
	sessionColumns = `sessions.id, title, creator, runner, git_url, branch, desired, model, effort, generation, conversation,
	stop_at, seq, observed, request, sessions.created, updated, kind, environment, environment_version, build, forwards, deleted,
	everyone, link_hash, link_created, desired_by`
	environmentName = `coalesce((SELECT name FROM environments WHERE environments.id = sessions.environment), '') AS environment_name`
	selectSession   = `SELECT ` + sessionColumns + `, ` + environmentName + ` FROM sessions`
	// there: the Runner has not said that nothing is left of it.
	there = `deleted = 0`
	// putAway are those that are archived, and those that wait for being deleted.
	putAway = `desired IN ('archived', 'deleted')`
)

func (r sessionRow) session() (Session, error) {
	out := Session{
		Session: claudehub.Session{ID: r.ID, Title: r.Title, Creator: r.Creator, Runner: r.Runner,
			Source: claudehub.Source{GitURL: r.GitURL, Branch: r.Branch}, Kind: r.Kind, Build: r.Build,
			Desired: r.Desired, Model: r.Model, Effort: r.Effort, Generation: r.Generation,
			Shared:  claudehub.Shared{Everyone: r.Everyone != 0, Link: r.LinkHash != ""},
			Created: at(r.Created), Updated: at(r.Updated)},
		Seq: r.Seq, Conversation: r.Conversation, StopAt: at(r.StopAt), Request: r.Request, Deleted: at(r.Deleted),
		LinkHash: r.LinkHash, LinkCreated: at(r.LinkCreated), DesiredBy: r.DesiredBy,
	}
	if r.Environment != "" {
		out.Environment = &claudehub.EnvironmentRef{ID: r.Environment, Version: r.Version, Name: r.EnvironmentName}
	}
	if err := decode(r.Forwards, &out.Forwards, "session "+string(r.ID)); err != nil {
		return out, err
	}
	err := decode(r.Observed, &out.Observed, "session "+string(r.ID))
	if o := &out.Observed; o.Ports == nil || o.Checks == nil { // as an earlier version wrote it
		o.Ports, o.Checks = append([]claudehub.Port{}, o.Ports...), append([]claudehub.Check{}, o.Checks...)
	}
	return out, err
}

// desiredTexts are the columns of what people decide that are not texts or numbers.
func desiredTexts(s Session) (environment claudehub.EnvironmentID, version int, forwards string, err error) {
	if s.Environment != nil {
		environment, version = s.Environment.ID, s.Environment.Version
	}
	if s.Forwards == nil {
		s.Forwards = []claudehub.Forward{}
	}
	forwards, err = encode(s.Forwards)
	return environment, version, forwards, err
}

// AddSession stores a Session; Conflict when its creator used that request key before.
func (q Q) AddSession(ctx context.Context, s Session) error {
	observed, err := encode(s.Observed)
	if err != nil {
		return err
	}
	environment, version, forwards, err := desiredTexts(s)
	if err != nil {
		return err
	}
	if s.Kind == "" {
		s.Kind = claudehub.KindClaude
	}
	_, err = q.exec(ctx, `INSERT INTO sessions (`+storedColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Title, s.Creator, s.Runner, s.Source.GitURL, s.Source.Branch, s.Desired, s.Model, s.Effort, s.Generation,
		s.Conversation, micros(s.StopAt), s.Seq, observed, s.Request, micros(s.Created), micros(s.Updated),
		s.Kind, environment, version, s.Build, forwards, micros(s.Deleted), s.DesiredBy)
	return err
}

// SetDesired stores everything that people decide of a Session, and its number in the log.
func (q Q) SetDesired(ctx context.Context, s Session) error {
	environment, version, forwards, err := desiredTexts(s)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE sessions SET title = ?, desired = ?, model = ?, effort = ?, generation = ?, conversation = ?,
		stop_at = ?, seq = ?, updated = ?, environment = ?, environment_version = ?, forwards = ?, desired_by = ? WHERE id = ?`,
		s.Title, s.Desired, s.Model, s.Effort, s.Generation, s.Conversation, micros(s.StopAt), s.Seq, micros(s.Updated),
		environment, version, forwards, s.DesiredBy, s.ID)
}

// SetSeq gives a Session a number in its Runner's log: what its Runner has to know of it changed elsewhere.
func (q Q) SetSeq(ctx context.Context, id claudehub.SessionID, seq int64) error {
	return q.must(ctx, `UPDATE sessions SET seq = ? WHERE id = ?`, seq, id)
}

// SetDeleted notes that the Runner has deleted a Session.
func (q Q) SetDeleted(ctx context.Context, id claudehub.SessionID, now time.Time) error {
	return q.must(ctx, `UPDATE sessions SET deleted = ?, request = '' WHERE id = ?`, micros(now), id)
}

// RemoveDeleted forgets Sessions that their Runners had deleted before a time.
func (q Q) RemoveDeleted(ctx context.Context, before time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM sessions WHERE deleted > 0 AND deleted < ?`, micros(before))
	return err
}

// SetObserved stores what the Runner observed.
func (q Q) SetObserved(ctx context.Context, id claudehub.SessionID, o claudehub.Observed, updated time.Time) error {
	observed, err := encode(o)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE sessions SET observed = ?, updated = ? WHERE id = ?`, observed, micros(updated), id)
}

// Session finds a Session that is not deleted.
func (q Q) Session(ctx context.Context, id claudehub.SessionID) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE id = ? AND `+there, id)
}

// DeletedSession finds a Session that its Runner has deleted, for as long as it is remembered.
func (q Q) DeletedSession(ctx context.Context, id claudehub.SessionID) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE id = ? AND deleted > 0`, id)
}

// LookSession finds the Session that looks into a Build's Sandbox, the newest if there were several.
func (q Q) LookSession(ctx context.Context, build claudehub.BuildID) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE build = ? AND build <> '' AND `+there+` ORDER BY created DESC, id DESC LIMIT 1`, build)
}

// SessionWithEnvironment finds a Session of a Runner that runs on an Environment, whatever its version.
func (q Q) SessionWithEnvironment(ctx context.Context, runner claudehub.RunnerID, id claudehub.EnvironmentID) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE environment = ? AND environment <> '' AND runner = ? AND `+there+` LIMIT 1`, id, runner)
}

// SessionPlace is where a Session is, and what its Variables hang on.
type SessionPlace struct {
	ID          claudehub.SessionID     `db:"id"`
	Runner      claudehub.RunnerID      `db:"runner"`
	Environment claudehub.EnvironmentID `db:"environment"`
	GitURL      string                  `db:"git_url"`
}

// SessionPlaces lists where a person's Sessions are, by Runner.
func (q Q) SessionPlaces(ctx context.Context, creator claudehub.PersonID) ([]SessionPlace, error) {
	var out []SessionPlace
	err := q.all(ctx, &out, `SELECT id, runner, environment, git_url FROM sessions WHERE creator = ? AND `+there+` ORDER BY runner, seq`, creator)
	return out, err
}

// SessionByRequest finds the Session that a person made with that key.
func (q Q) SessionByRequest(ctx context.Context, creator claudehub.PersonID, request string) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE creator = ? AND request = ? AND `+there, creator, request)
}

func (q Q) oneSession(ctx context.Context, query string, args ...any) (Session, error) {
	var r sessionRow
	if err := q.get(ctx, &r, query, args...); err != nil {
		return Session{}, err
	}
	return r.session()
}

// SessionsOf lists the Sessions that a person made, the newest first: archived ones with those that shall be deleted,
// or the others.
func (q Q) SessionsOf(ctx context.Context, creator claudehub.PersonID, archived bool) ([]Session, error) {
	which := ` AND NOT ` + putAway
	if archived {
		which = ` AND ` + putAway
	}
	return q.manySessions(ctx, selectSession+` WHERE creator = ? AND `+there+which+` ORDER BY created DESC, id DESC`, creator)
}

// SessionsSince lists a Runner's Sessions whose desired state changed after a number of its log, in order.
func (q Q) SessionsSince(ctx context.Context, runner claudehub.RunnerID, seq int64) ([]Session, error) {
	return q.manySessions(ctx, selectSession+` WHERE runner = ? AND seq > ? AND `+there+` ORDER BY seq`, runner, seq)
}

func (q Q) manySessions(ctx context.Context, query string, args ...any) ([]Session, error) {
	var rows []sessionRow
	if err := q.all(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	return convertAll(rows, sessionRow.session)
}

// CountSessions counts a Runner's Sessions that are not archived.
func (q Q) CountSessions(ctx context.Context, runner claudehub.RunnerID) (int, error) {
	var n int
	err := q.get(ctx, &n, `SELECT count(*) FROM sessions WHERE runner = ? AND NOT `+putAway+` AND `+there, runner)
	return n, err
}

// Reach is what must be known to send something to a Session's Runner now.
type Reach struct {
	Creator claudehub.PersonID
	Runner  claudehub.RunnerID
	Link    claudehub.Link
	Lease   Lease
}

// Reach finds the way to a Session in one small query: it is asked for each keystroke.
func (q Q) Reach(ctx context.Context, id claudehub.SessionID) (Reach, error) {
	var r struct {
		Creator claudehub.PersonID  `db:"creator"`
		Runner  claudehub.RunnerID  `db:"runner"`
		State   claudehub.LinkState `db:"link_state"`
		Since   int64               `db:"link_since"`
		Hub     string              `db:"lease_hub"`
		Inst    string              `db:"lease_instance"`
		Renewed int64               `db:"lease_renewed"`
	}
	err := q.get(ctx, &r, `SELECT s.creator, s.runner, r.link_state, r.link_since, r.lease_hub, r.lease_instance, r.lease_renewed
		FROM sessions s JOIN runners r ON r.id = s.runner WHERE s.id = ? AND s.deleted = 0`, id)
	return Reach{Creator: r.Creator, Runner: r.Runner, Link: claudehub.Link{State: r.State, Since: at(r.Since)},
		Lease: Lease{Instance: r.Inst, Hub: r.Hub, Renewed: at(r.Renewed)}}, err
}
