package github

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
)

// Script says who there is. The package doc shows the file's form.
type Script struct {
	App           App            `json:"app"`
	People        []Person       `json:"people"`
	Orgs          []Org          `json:"orgs"`
	Installations []Installation `json:"installations"`
	Repos         []Repo         `json:"repos"`
}

// App is the OAuth application that people sign in to.
type App struct {
	ClientID  string   `json:"clientID"`
	Redirects []string `json:"redirects"` // exact
	// TokenLifeSeconds is how long a token is good; 0 is for ever, and without a refresh token.
	TokenLifeSeconds int `json:"tokenLifeSeconds"`
	CodeLifeSeconds  int `json:"codeLifeSeconds"` // 0 is ten minutes
}

// Person is one who can sign in. The id is who it is; the login is what it is called at present.
type Person struct {
	ID        int64  `json:"id"`
	Login     string `json:"login"`
	Name      string `json:"name,omitempty"`
	AvatarURL string `json:"avatarURL,omitempty"`
}

// Org is an organisation with its people and teams.
type Org struct {
	ID      int64    `json:"id"`
	Login   string   `json:"login"`
	Members []Member `json:"members"`
	Teams   []Team   `json:"teams"`
}

// Team is a team of an organisation.
type Team struct {
	Slug    string   `json:"slug"`
	Members []Member `json:"members"`
}

// Member is a person's place in an organisation or team.
type Member struct {
	Person int64  `json:"person"`
	State  string `json:"state,omitempty"` // active (also when empty) or pending
}

// Installation is a GitHub App's installation that some people may see.
type Installation struct {
	ID      int64   `json:"id"`
	Account string  `json:"account"`
	People  []int64 `json:"people"`
}

// Repo is a repository and the people who see it. To everybody else it is not there.
type Repo struct {
	ID      int64   `json:"id"`
	Name    string  `json:"name"` // owner/name
	Readers []int64 `json:"readers"`
}

const defaultCodeLife = 10 * time.Minute

// ParseScript reads a script and refuses one that contradicts itself.
func ParseScript(b []byte) (Script, error) {
	var s Script
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("parse script: %w", err)
	}
	if dec.More() {
		return Script{}, fmt.Errorf("parse script: there is more after the object")
	}
	return s, s.check()
}

// LoadScript reads a script's file.
func LoadScript(path string) (Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	return ParseScript(b)
}

func (s Script) check() error {
	if s.App.ClientID == "" {
		return fmt.Errorf("script: app.clientID is missing")
	}
	if err := s.App.check(); err != nil {
		return err
	}
	known, logins := map[int64]bool{}, map[string]bool{}
	for _, p := range s.People {
		if p.ID <= 0 || p.Login == "" || known[p.ID] || logins[strings.ToLower(p.Login)] {
			return fmt.Errorf("script: person %d %q: id and login are needed, and each once", p.ID, p.Login)
		}
		known[p.ID], logins[strings.ToLower(p.Login)] = true, true
	}
	for _, o := range s.Orgs {
		if err := o.check(known); err != nil {
			return err
		}
	}
	for _, r := range s.Repos {
		if err := r.check(known); err != nil {
			return err
		}
	}
	return nil
}

func (r Repo) check(known map[int64]bool) error {
	owner, name, _ := strings.Cut(r.Name, "/")
	if r.ID <= 0 || owner == "" || name == "" {
		return fmt.Errorf("script: repository %d %q needs id, and owner/name", r.ID, r.Name)
	}
	for _, p := range r.Readers {
		if !known[p] {
			return fmt.Errorf("script: reader %d of %s is unknown", p, r.Name)
		}
	}
	return nil
}

func (a App) check() error {
	if a.TokenLifeSeconds < 0 || a.CodeLifeSeconds < 0 {
		return fmt.Errorf("script: a life cannot be negative")
	}
	for _, r := range a.Redirects {
		if u, err := url.Parse(r); err != nil || u.Scheme == "" || u.Host == "" || u.Fragment != "" {
			return fmt.Errorf("script: redirect %q is no absolute address", r)
		}
	}
	return nil
}

func (o Org) check(known map[int64]bool) error {
	if o.ID <= 0 || o.Login == "" {
		return fmt.Errorf("script: organisation %d %q needs id and login", o.ID, o.Login)
	}
	lists := [][]Member{o.Members}
	for _, t := range o.Teams {
		if t.Slug == "" {
			return fmt.Errorf("script: a team of %s has no slug", o.Login)
		}
		lists = append(lists, t.Members)
	}
	for _, list := range lists {
		for _, m := range list {
			if !known[m.Person] || (m.State != "" && m.State != active && m.State != pending) {
				return fmt.Errorf("script: member %d (%q) of %s: an unknown person or state", m.Person, m.State, o.Login)
			}
		}
	}
	return nil
}
