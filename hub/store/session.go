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
	Request      string // the client's key for its creation
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
}

const sessionColumns = `id, title, creator, runner, git_url, branch, desired, model, effort, generation, conversation,
	stop_at, seq, observed, request, created, updated`

func (r sessionRow) session() (Session, error) {
	out := Session{
		Session: claudehub.Session{ID: r.ID, Title: r.Title, Creator: r.Creator, Runner: r.Runner,
			Source:  claudehub.Source{GitURL: r.GitURL, Branch: r.Branch},
			Desired: r.Desired, Model: r.Model, Effort: r.Effort, Generation: r.Generation,
			Created: at(r.Created), Updated: at(r.Updated)},
		Seq: r.Seq, Conversation: r.Conversation, StopAt: at(r.StopAt), Request: r.Request,
	}
	return out, decode(r.Observed, &out.Observed, "session "+string(r.ID))
}

// AddSession stores a Session; Conflict when its creator used that request key before.
func (q Q) AddSession(ctx context.Context, s Session) error {
	observed, err := encode(s.Observed)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Title, s.Creator, s.Runner, s.Source.GitURL, s.Source.Branch, s.Desired, s.Model, s.Effort, s.Generation,
		s.Conversation, micros(s.StopAt), s.Seq, observed, s.Request, micros(s.Created), micros(s.Updated))
	return err
}

// SetDesired stores everything that people decide of a Session, and its number in the log.
func (q Q) SetDesired(ctx context.Context, s Session) error {
	return q.must(ctx, `UPDATE sessions SET title = ?, desired = ?, model = ?, effort = ?, generation = ?, conversation = ?,
		stop_at = ?, seq = ?, updated = ? WHERE id = ?`,
		s.Title, s.Desired, s.Model, s.Effort, s.Generation, s.Conversation, micros(s.StopAt), s.Seq, micros(s.Updated), s.ID)
}

// SetObserved stores what the Runner observed.
func (q Q) SetObserved(ctx context.Context, id claudehub.SessionID, o claudehub.Observed, updated time.Time) error {
	observed, err := encode(o)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE sessions SET observed = ?, updated = ? WHERE id = ?`, observed, micros(updated), id)
}

// Session finds a Session.
func (q Q) Session(ctx context.Context, id claudehub.SessionID) (Session, error) {
	return q.oneSession(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id)
}

// SessionByRequest finds the Session that a person made with that key.
func (q Q) SessionByRequest(ctx context.Context, creator claudehub.PersonID, request string) (Session, error) {
	return q.oneSession(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE creator = ? AND request = ?`, creator, request)
}

func (q Q) oneSession(ctx context.Context, query string, args ...any) (Session, error) {
	var r sessionRow
	if err := q.get(ctx, &r, query, args...); err != nil {
		return Session{}, err
	}
	return r.session()
}

// SessionsOf lists the Sessions that a person made, archived ones or the others, the newest first.
func (q Q) SessionsOf(ctx context.Context, creator claudehub.PersonID, archived bool) ([]Session, error) {
	compare := `<>`
	if archived {
		compare = `=`
	}
	return q.manySessions(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE creator = ? AND desired `+compare+` ?
		ORDER BY created DESC, id DESC`, creator, claudehub.WantArchived)
}

// SessionsSince lists a Runner's Sessions whose desired state changed after a number of its log, in order.
func (q Q) SessionsSince(ctx context.Context, runner claudehub.RunnerID, seq int64) ([]Session, error) {
	return q.manySessions(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE runner = ? AND seq > ? ORDER BY seq`, runner, seq)
}

func (q Q) manySessions(ctx context.Context, query string, args ...any) ([]Session, error) {
	var rows []sessionRow
	if err := q.all(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	out := make([]Session, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = r.session(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CountSessions counts a Runner's Sessions that are not archived.
func (q Q) CountSessions(ctx context.Context, runner claudehub.RunnerID) (int, error) {
	var n int
	err := q.get(ctx, &n, `SELECT count(*) FROM sessions WHERE runner = ? AND desired <> ?`, runner, claudehub.WantArchived)
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
		FROM sessions s JOIN runners r ON r.id = s.runner WHERE s.id = ?`, id)
	return Reach{Creator: r.Creator, Runner: r.Runner, Link: claudehub.Link{State: r.State, Since: at(r.Since)},
		Lease: Lease{Instance: r.Inst, Hub: r.Hub, Renewed: at(r.Renewed)}}, err
}
