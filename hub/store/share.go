package store

import (
	"context"

	"claude-hub/internal/claudehub"
)

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
