package store

import (
	"context"

	"claude-hub/internal/claudehub"
)

type personRow struct {
	ID      claudehub.PersonID `db:"id"`
	Login   string             `db:"login"`
	Name    string             `db:"name"`
	Created int64              `db:"created"`
}

func (r personRow) person() claudehub.Person {
	return claudehub.Person{ID: r.ID, Login: r.Login, Name: r.Name, Created: at(r.Created)}
}

// AddPerson stores a person unless one with that login is there.
func (q Q) AddPerson(ctx context.Context, p claudehub.Person) error {
	_, err := q.exec(ctx, `INSERT INTO people (id, login, name, created) VALUES (?, ?, ?, ?) ON CONFLICT (login) DO NOTHING`,
		p.ID, p.Login, p.Name, micros(p.Created))
	return err
}

// PersonByLogin finds a person.
func (q Q) PersonByLogin(ctx context.Context, login string) (claudehub.Person, error) {
	var r personRow
	err := q.get(ctx, &r, `SELECT id, login, name, created FROM people WHERE login = ?`, login)
	return r.person(), err
}
