package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// Sight is what GitHub last said of a person's sight of a repository.
type Sight struct {
	Sees    bool
	Checked time.Time
}

// Sights lists what is known of a person's sight, by repository.
func (q Q) Sights(ctx context.Context, p claudehub.PersonID, repos []string) (map[string]Sight, error) {
	out := map[string]Sight{}
	err := inChunks(repos, func(some []string) error {
		var rows []struct {
			Repo    string `db:"repo"`
			Sees    int    `db:"sees"`
			Checked int64  `db:"checked"`
		}
		err := q.in(ctx, &rows, `SELECT repo, sees, checked FROM sights WHERE repo IN (?) AND person = ?`, some, p)
		for _, r := range rows {
			out[r.Repo] = Sight{r.Sees != 0, at(r.Checked)}
		}
		return err
	})
	return out, err
}

// PutSight stores what GitHub said, unless something later is there.
func (q Q) PutSight(ctx context.Context, p claudehub.PersonID, repo string, s Sight) error {
	sees := 0
	if s.Sees {
		sees = 1
	}
	_, err := q.exec(ctx, `INSERT INTO sights (person, repo, sees, checked) VALUES (?, ?, ?, ?)
		ON CONFLICT (person, repo) DO UPDATE SET sees = excluded.sees, checked = excluded.checked WHERE sights.checked <= excluded.checked`,
		p, repo, sees, micros(s.Checked))
	return err
}

// DeleteOldSights forgets what was said before a time.
func (q Q) DeleteOldSights(ctx context.Context, before time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM sights WHERE checked < ?`, micros(before))
	return err
}
