package github

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SetPerson adds a person, or changes the one with that id: this is how a login is renamed. A login is one person's at
// a time, but one that was given up may be taken by another.
func (s *Server) SetPerson(p Person) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	people := &s.world.script.People
	if p.ID <= 0 || p.Login == "" {
		return fmt.Errorf("a person needs id and login")
	}
	at := -1
	for i, other := range *people {
		switch {
		case other.ID == p.ID:
			at = i
		case strings.EqualFold(other.Login, p.Login):
			return fmt.Errorf("the login %q is taken", p.Login)
		}
	}
	if at < 0 {
		*people = append(*people, p)
		return nil
	}
	if p.Name == "" {
		p.Name = (*people)[at].Name
	}
	if p.AvatarURL == "" {
		p.AvatarURL = (*people)[at].AvatarURL
	}
	(*people)[at] = p
	return nil
}

// SetMember gives a person a place in an organisation: active, pending, or none when the state is empty.
func (s *Server) SetMember(org string, person int64, state string) error {
	return s.change(org, person, state, func(o *Org) *[]Member { return &o.Members })
}

// SetTeamMember gives a person a place in a team.
func (s *Server) SetTeamMember(org, team string, person int64, state string) error {
	return s.change(org, person, state, func(o *Org) *[]Member {
		for i := range o.Teams {
			if strings.EqualFold(o.Teams[i].Slug, team) {
				return &o.Teams[i].Members
			}
		}
		return nil
	})
}

func (s *Server) change(org string, person int64, state string, list func(*Org) *[]Member) error {
	if state != "" && state != active && state != pending {
		return fmt.Errorf("state %q is none of active, pending and empty", state)
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if _, ok := s.world.personLocked(person); !ok {
		return fmt.Errorf("there is no person %d", person)
	}
	for i := range s.world.script.Orgs {
		o := &s.world.script.Orgs[i]
		if !strings.EqualFold(o.Login, org) {
			continue
		}
		members := list(o)
		if members == nil {
			return fmt.Errorf("%s has no such team", org)
		}
		*members = slices.DeleteFunc(*members, func(m Member) bool { return m.Person == person })
		if state != "" {
			*members = append(*members, Member{person, state})
		}
		return nil
	}
	return fmt.Errorf("there is no organisation %q", org)
}

// RenameOrg gives an organisation another login.
func (s *Server) RenameOrg(from, to string) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for i := range s.world.script.Orgs {
		if strings.EqualFold(s.world.script.Orgs[i].Login, from) {
			s.world.script.Orgs[i].Login = to
			return nil
		}
	}
	return fmt.Errorf("there is no organisation %q", from)
}

// SetReader shows a repository to a person, or hides it from them.
func (s *Server) SetReader(repo string, person int64, sees bool) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if _, ok := s.world.personLocked(person); !ok {
		return fmt.Errorf("there is no person %d", person)
	}
	for i := range s.world.script.Repos {
		r := &s.world.script.Repos[i]
		if !strings.EqualFold(r.Name, repo) {
			continue
		}
		r.Readers = slices.DeleteFunc(r.Readers, func(p int64) bool { return p == person })
		if sees {
			r.Readers = append(r.Readers, person)
		}
		return nil
	}
	return fmt.Errorf("there is no repository %q", repo)
}

// Revoke ends all tokens of a person, or everybody's with 0, and returns how many.
func (s *Server) Revoke(person int64) int { return s.world.dropTokens(person) }

// Advance moves the stand-in's clock on.
func (s *Server) Advance(d time.Duration) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.ahead += d
}

// SetApp changes redirects and lives of the application; its client id stays.
func (s *Server) SetApp(a App) error {
	if err := a.check(); err != nil {
		return err
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	a.ClientID, a.Redirects = s.world.script.App.ClientID, slices.Clone(a.Redirects)
	s.world.script.App = a
	return nil
}

// Script returns people, organisations and application as they are now.
func (s *Server) Script() Script { return s.world.snapshot() }
