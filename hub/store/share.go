package store

import (
	"context"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"claude-hub/internal/claudehub"
)

// How a share came to be (shares.by_link). One that was taken from a person while there is a link stays as a bar: the same
// link does not let them in again.
const (
	shareNamed = iota
	shareJoined
	shareBarred

	live = `by_link < 2`
)

// inChunk is how many ids go into one IN: below every database's bound.
const inChunk = 1000

type faceRow struct {
	ID     claudehub.PersonID `db:"id"`
	Login  string             `db:"login"`
	Name   string             `db:"name"`
	Avatar string             `db:"avatar"`
}

func (r faceRow) face() claudehub.Face {
	return claudehub.Face{ID: r.ID, Login: r.Login, Name: r.Name, Avatar: r.Avatar}
}

const selectFace = `SELECT p.id, p.login, p.name, p.avatar FROM people p`

// Face finds what others see of a person.
func (q Q) Face(ctx context.Context, id claudehub.PersonID) (claudehub.Face, error) {
	var r faceRow
	err := q.get(ctx, &r, selectFace+` WHERE p.id = ?`, id)
	return r.face(), err
}

// Faces finds what others see of several people.
func (q Q) Faces(ctx context.Context, ids []claudehub.PersonID) (map[claudehub.PersonID]claudehub.Face, error) {
	out := map[claudehub.PersonID]claudehub.Face{}
	err := inChunks(ids, func(some []claudehub.PersonID) error {
		var rows []faceRow
		err := q.in(ctx, &rows, selectFace+` WHERE p.id IN (?)`, some)
		for _, r := range rows {
			out[r.ID] = r.face()
		}
		return err
	})
	return out, err
}

// member is a person who is on the Hub. The one of local mode, who has no number at GitHub, is on no other Hub: the
// parameter tells whether this one is local.
const member = `p.removed = 0 AND (p.github <> 0 OR ?)`

// MemberByLogin finds a person who is on this Hub by what GitHub calls them now, without regard to case.
func (q Q) MemberByLogin(ctx context.Context, login string, local bool) (claudehub.Face, error) {
	var r faceRow
	err := q.get(ctx, &r, selectFace+` WHERE lower(p.login) = lower(?) AND `+member+` ORDER BY p.seen DESC, p.id LIMIT 1`, login, local)
	return r.face(), err
}

// Members lists people who are on this Hub and whose login or name begins with a text, by login.
func (q Q) Members(ctx context.Context, prefix string, local bool, limit int) ([]claudehub.Face, error) {
	var rows []faceRow
	like := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(prefix)) + `%`
	err := q.all(ctx, &rows, selectFace+` WHERE `+member+` AND (lower(p.login) LIKE ? ESCAPE '\' OR lower(p.name) LIKE ? ESCAPE '\')
		ORDER BY lower(p.login), p.id LIMIT ?`, local, like, like, limit)
	return convert(rows, faceRow.face), err
}

// AddShare lets a person watch a Session: by name, which also ends a bar, or by its link. It tells whether that is new;
// one who was barred does not come in by the link.
func (q Q) AddShare(ctx context.Context, session claudehub.SessionID, p claudehub.PersonID, byLink bool, now time.Time) (bool, error) {
	how, again := shareNamed, `DO UPDATE SET by_link = 0 WHERE shares.by_link <> 0`
	if byLink {
		how, again = shareJoined, `DO NOTHING`
	}
	n, err := q.exec(ctx, `INSERT INTO shares (session, person, by_link, created) VALUES (?, ?, ?, ?) ON CONFLICT (session, person) `+again,
		session, p, how, micros(now))
	return n > 0, err
}

// RemoveShare takes a Session from a person, and bars the link to them while there is one.
func (q Q) RemoveShare(ctx context.Context, session claudehub.SessionID, p claudehub.PersonID, bar bool) error {
	if bar {
		return q.must(ctx, `UPDATE shares SET by_link = ? WHERE session = ? AND person = ? AND `+live, shareBarred, session, p)
	}
	return q.must(ctx, `DELETE FROM shares WHERE session = ? AND person = ? AND `+live, session, p)
}

// RemoveJoined takes a Session from all who joined by its link, and lifts the bars.
func (q Q) RemoveJoined(ctx context.Context, session claudehub.SessionID) error {
	_, err := q.exec(ctx, `DELETE FROM shares WHERE session = ? AND by_link <> ?`, session, shareNamed)
	return err
}

// LiftBars lets those come in by a new link who were barred from the old one.
func (q Q) LiftBars(ctx context.Context, session claudehub.SessionID) error {
	_, err := q.exec(ctx, `DELETE FROM shares WHERE session = ? AND by_link = ?`, session, shareBarred)
	return err
}

// CountShares counts the people that a Session is shared with, by name and by its link.
func (q Q) CountShares(ctx context.Context, session claudehub.SessionID) (named, joined int, err error) {
	var n struct {
		Named  int `db:"named"`
		Joined int `db:"joined"`
	}
	err = q.get(ctx, &n, `SELECT count(CASE WHEN by_link = 0 THEN 1 END) AS named, count(CASE WHEN by_link = 1 THEN 1 END) AS joined
		FROM shares WHERE session = ?`, session)
	return n.Named, n.Joined, err
}

// SharedWith tells whether a Session is shared with a person, by name or by its link.
func (q Q) SharedWith(ctx context.Context, session claudehub.SessionID, p claudehub.PersonID) (bool, error) {
	var n int
	err := q.get(ctx, &n, `SELECT count(*) FROM shares WHERE session = ? AND person = ? AND `+live, session, p)
	return n > 0, err
}

// SharedPeople lists with whom Sessions are shared, in the order in which that was done.
func (q Q) SharedPeople(ctx context.Context, sessions []claudehub.SessionID) (map[claudehub.SessionID][]claudehub.Face, error) {
	out := map[claudehub.SessionID][]claudehub.Face{}
	err := inChunks(sessions, func(some []claudehub.SessionID) error {
		var rows []struct {
			faceRow
			Session claudehub.SessionID `db:"session"`
		}
		err := q.in(ctx, &rows, `SELECT s.session, p.id, p.login, p.name, p.avatar FROM shares s JOIN people p ON p.id = s.person
			WHERE s.session IN (?) AND s.`+live+` ORDER BY s.session, s.created, p.id`, some)
		for _, r := range rows {
			out[r.Session] = append(out[r.Session], r.face())
		}
		return err
	})
	return out, err
}

// SetSharing stores what a Session is shared by beside people, and that it changed.
func (q Q) SetSharing(ctx context.Context, s Session) error {
	everyone := 0
	if s.Shared.Everyone {
		everyone = 1
	}
	return q.must(ctx, `UPDATE sessions SET everyone = ?, link_hash = ?, link_created = ?, updated = ? WHERE id = ?`,
		everyone, s.LinkHash, micros(s.LinkCreated), micros(s.Updated), s.ID)
}

// SessionByLink finds the Session whose link that is.
func (q Q) SessionByLink(ctx context.Context, hash string) (Session, error) {
	return q.oneSession(ctx, selectSession+` WHERE link_hash = ? AND link_hash <> '' AND `+there, hash)
}

// SharedPlace is where a Session is that another made, and why it is shared.
type SharedPlace struct {
	ID     claudehub.SessionID `db:"id"`
	Runner claudehub.RunnerID  `db:"runner"`
	GitURL string              `db:"git_url"`
	Away   bool                `db:"away"`  // it is archived, or shall be deleted
	Named  bool                `db:"named"` // with the person; otherwise with everyone who sees its repository
}

// SharedPlaces lists the Sessions that others made and that are shared with a person or with everyone. Whether the person
// can see the repository of one that is shared with everyone is not asked here.
func (q Q) SharedPlaces(ctx context.Context, p claudehub.PersonID) ([]SharedPlace, error) {
	var out []SharedPlace
	err := q.all(ctx, &out, `SELECT id, runner, git_url, `+putAway+` AS away, (h.person IS NOT NULL) AS named
		FROM sessions LEFT JOIN shares h ON h.session = sessions.id AND h.person = ? AND h.`+live+`
		WHERE (h.person IS NOT NULL OR everyone = 1) AND creator <> ? AND kind <> ? AND `+there, p, p, claudehub.KindLook)
	return out, err
}

// SessionsIn finds several Sessions, in no order; those that are deleted are left out.
func (q Q) SessionsIn(ctx context.Context, ids []claudehub.SessionID) ([]Session, error) {
	var out []Session
	err := inChunks(ids, func(some []claudehub.SessionID) error {
		var rows []sessionRow
		if err := q.in(ctx, &rows, selectSession+` WHERE id IN (?) AND `+there, some); err != nil {
			return err
		}
		all, err := convertAll(rows, sessionRow.session)
		out = append(out, all...)
		return err
	})
	return out, err
}

// in is all for a query with one IN (?).
func (q Q) in(ctx context.Context, dest any, query string, list any, more ...any) error {
	query, args, err := sqlx.In(query, append([]any{list}, more...)...)
	if err != nil {
		return fold(err)
	}
	return q.all(ctx, dest, query, args...)
}

// inChunks calls fn for no more of a list than an IN can take.
func inChunks[T any](list []T, fn func([]T) error) error {
	for len(list) > 0 {
		n := min(len(list), inChunk)
		if err := fn(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
