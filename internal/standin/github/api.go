package github

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type apiHandler func(http.ResponseWriter, *http.Request, *Request, Person)

// api serves the holder of a token.
func (s *Server) api(endpoint string, next apiHandler) http.HandlerFunc {
	return s.guard(endpoint, func(w http.ResponseWriter, r *http.Request, q *Request) {
		person, g, ok := s.world.holder(bearer(r))
		if !ok {
			s.no(w, q, http.StatusUnauthorized, "Bad credentials")
			return
		}
		s.rec.update(q, func(q *Request) { q.Person = person.ID })
		h := w.Header()
		h.Set("X-RateLimit-Limit", "5000")
		h.Set("X-RateLimit-Remaining", "4999")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		h.Set("X-OAuth-Scopes", strings.Join(g.scopes, ", "))
		needsOrg := endpoint == OrgMembership || endpoint == TeamMember
		if needsOrg && !slices.Contains(g.scopes, "read:org") {
			s.no(w, q, http.StatusForbidden, "You need at least read:org scope to do this")
			return
		}
		next(w, r, q, person)
	})
}

// bearer takes both words that GitHub takes.
func bearer(r *http.Request) string {
	word, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(word, "bearer") || strings.EqualFold(word, "token") {
		return token
	}
	return ""
}

func userOf(p Person) m {
	return m{
		"id": p.ID, "login": p.Login, "name": p.Name, "avatar_url": p.AvatarURL, "type": "User", "site_admin": false,
		"node_id": "standin_" + strconv.FormatInt(p.ID, 10),
	}
}

func orgOf(o Org) m { return m{"id": o.ID, "login": o.Login, "description": "Stand-in organisation"} }

func (s *Server) user(w http.ResponseWriter, _ *http.Request, q *Request, p Person) {
	s.yes(w, q, userOf(p))
}

func (s *Server) userOrgs(w http.ResponseWriter, _ *http.Request, q *Request, p Person) {
	list := []m{}
	for _, o := range s.world.snapshot().Orgs {
		if state, ok := place(o.Members, p.ID); ok && state == active {
			list = append(list, orgOf(o))
		}
	}
	s.yes(w, q, list)
}

func (s *Server) orgMembership(w http.ResponseWriter, r *http.Request, q *Request, p Person) {
	o, ok := s.world.org(r.PathValue("org"))
	state, in := place(o.Members, p.ID)
	if !ok || !in {
		s.no(w, q, http.StatusNotFound, "Not Found")
		return
	}
	s.yes(w, q, m{"state": state, "role": "member", "organization": orgOf(o), "user": userOf(p)})
}

// teamMembership shows a team to the people of its organisation alone, as GitHub does.
func (s *Server) teamMembership(w http.ResponseWriter, r *http.Request, q *Request, asker Person) {
	o, ok := s.world.org(r.PathValue("org"))
	member, known := s.world.personCalled(r.PathValue("login"))
	if state, in := place(o.Members, asker.ID); !ok || !known || !in || state != active {
		s.no(w, q, http.StatusNotFound, "Not Found")
		return
	}
	for _, t := range o.Teams {
		if !strings.EqualFold(t.Slug, r.PathValue("team")) {
			continue
		}
		if state, in := place(t.Members, member.ID); in {
			s.yes(w, q, m{"state": state, "role": "member"})
			return
		}
	}
	s.no(w, q, http.StatusNotFound, "Not Found")
}

func (s *Server) installations(w http.ResponseWriter, _ *http.Request, q *Request, p Person) {
	list := []m{}
	for _, in := range s.world.snapshot().Installations {
		if slices.Contains(in.People, p.ID) {
			list = append(list, m{"id": in.ID, "account": m{"login": in.Account}})
		}
	}
	s.yes(w, q, m{"total_count": len(list), "installations": list})
}

// repo shows a repository to those who see it; to others it is not there.
func (s *Server) repo(w http.ResponseWriter, r *http.Request, q *Request, p Person) {
	for _, repo := range s.world.snapshot().Repos {
		if !strings.EqualFold(repo.Name, r.PathValue("owner")+"/"+r.PathValue("repo")) || !slices.Contains(repo.Readers, p.ID) {
			continue
		}
		owner, name, _ := strings.Cut(repo.Name, "/")
		s.yes(w, q, m{"id": repo.ID, "name": name, "full_name": repo.Name, "private": true, "owner": m{"login": owner}})
		return
	}
	s.no(w, q, http.StatusNotFound, "Not Found")
}

// application refuses a call that the application did not sign with its secret, and returns the token it is about.
func (s *Server) application(w http.ResponseWriter, r *http.Request, q *Request) (string, bool) {
	client, secret, _ := r.BasicAuth()
	if client != r.PathValue("client") || !s.known(client, secret) {
		s.no(w, q, http.StatusNotFound, "Not Found")
		return "", false
	}
	var body struct {
		AccessToken string `json:"access_token"`
	}
	if status, err := decode(r, &body); err != nil {
		s.no(w, q, status, err.Error())
		return "", false
	}
	return body.AccessToken, true
}

func (s *Server) checkToken(w http.ResponseWriter, r *http.Request, q *Request) {
	token, ok := s.application(w, r, q)
	if !ok {
		return
	}
	person, g, ok := s.world.holder(token)
	if !ok {
		s.no(w, q, http.StatusNotFound, "Not Found")
		return
	}
	s.rec.update(q, func(q *Request) { q.Person = person.ID })
	s.yes(w, q, m{"id": person.ID, "scopes": g.scopes, "app": m{"client_id": r.PathValue("client")}, "user": userOf(person)})
}

func (s *Server) deleteToken(w http.ResponseWriter, r *http.Request, q *Request) {
	token, ok := s.application(w, r, q)
	if !ok {
		return
	}
	if !s.world.dropToken(token) {
		s.no(w, q, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome = http.StatusNoContent, "answered" })
	w.WriteHeader(http.StatusNoContent)
}
