package github

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// asked is what an application asks of a person.
type asked struct{ client, redirect, state, scope, challenge string }

// ask reads and checks a question; the text says what is wrong with it, and then no redirect may be followed.
func (s *Server) ask(v url.Values) (asked, string) {
	a := asked{v.Get("client_id"), v.Get("redirect_uri"), v.Get("state"), v.Get("scope"), v.Get("code_challenge")}
	app := s.world.snapshot().App
	switch {
	case a.client != app.ClientID:
		return a, "No application has this client id."
	case !slices.Contains(app.Redirects, a.redirect):
		return a, "The redirect_uri is not exactly one of those registered for the application."
	case v.Get("response_type") != "" && v.Get("response_type") != "code":
		return a, "The response_type has to be code."
	case (a.challenge != "" || v.Get("code_challenge_method") != "") && v.Get("code_challenge_method") != "S256":
		return a, "The code_challenge_method has to be S256."
	case a.challenge != "" && !challenge(a.challenge):
		return a, "The code_challenge is not a SHA-256 in base64url."
	}
	return a, ""
}

func challenge(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == 32
}

func (s *Server) authorizePage(w http.ResponseWriter, r *http.Request, q *Request) {
	a, wrong := s.ask(r.URL.Query())
	if wrong != "" {
		s.wrongPage(w, q, wrong)
		return
	}
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome, q.PKCE = http.StatusOK, "answered", a.challenge != "" })
	page(w, http.StatusOK, pageData{
		Title: "Sign in", Ask: true, Action: r.URL.RequestURI(), Client: a.client, Redirect: a.redirect, Scope: a.scope,
		People: s.world.snapshot().People,
	})
}

// decide sends the person back with a code, or with a "no". The question is in the address, as for the page.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, q *Request) {
	a, wrong := s.ask(r.URL.Query())
	if wrong != "" {
		s.wrongPage(w, q, wrong)
		return
	}
	back, err := url.Parse(a.redirect)
	if err != nil {
		s.wrongPage(w, q, "The redirect_uri cannot be read.")
		return
	}
	answer := back.Query()
	if a.state != "" {
		answer.Set("state", a.state)
	}
	if r.PostFormValue("deny") != "" {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "stand-in: the person declined")
		s.rec.update(q, func(q *Request) { q.Reason = "declined" })
	} else {
		id, _ := strconv.ParseInt(r.PostFormValue("person"), 10, 64) // nobody has the id 0
		person, ok := s.world.person(id)
		if !ok {
			s.wrongPage(w, q, "Nobody here has this id.")
			return
		}
		code, err := s.world.addCode(grant{person: id, scopes: scopes(a.scope), redirect: a.redirect, challenge: a.challenge})
		if err != nil {
			s.wrongPage(w, q, err.Error())
			return
		}
		answer.Set("code", code)
		s.rec.update(q, func(q *Request) { q.Person, q.PKCE = person.ID, a.challenge != "" })
	}
	back.RawQuery = answer.Encode()
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome = http.StatusFound, "answered" })
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", back.String())
	w.WriteHeader(http.StatusFound)
}

func scopes(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
}

func (s *Server) wrongPage(w http.ResponseWriter, q *Request, why string) {
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome, q.Reason = http.StatusBadRequest, "refused", why })
	page(w, http.StatusBadRequest, pageData{Title: "This cannot be asked", Text: why})
}

func (s *Server) home(w http.ResponseWriter) {
	page(w, http.StatusOK, pageData{Title: "Nothing to see", Text: "Applications send people to /login/oauth/authorize."})
}

type pageData struct {
	Title, Text             string
	Ask                     bool
	Action                  string
	Client, Redirect, Scope string
	People                  []Person
}

func page(w http.ResponseWriter, status int, d pageData) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = pages.Execute(w, d) // the caller may be gone
}

var pages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}} · ` + Name + `</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1c1c1e;background:#f6f6f7}
header{background:#7a3e00;color:#fff;padding:.75rem 1rem;font-weight:600}
main{max-width:34rem;margin:2rem auto;padding:0 1rem}
button{font:inherit;display:block;width:100%;margin:.5rem 0;padding:.75rem;text-align:left;border:1px solid #8a8a8e;border-radius:.5rem;background:#fff}
button:focus-visible{outline:3px solid #0a66d0}
</style></head><body>
<header role="banner">This is a stand-in. It is not GitHub, and nobody's GitHub account is used here.</header>
<main><h1>{{.Title}}</h1>
{{if .Text}}<p>{{.Text}}</p>{{end}}
{{if .Ask}}<p>The application <b>{{.Client}}</b> asks who you are{{if .Scope}} and for <b>{{.Scope}}</b>{{end}}. It takes you back to <b>{{.Redirect}}</b>.</p>
<form method="post" action="{{.Action}}">
{{range .People}}<button name="person" value="{{.ID}}">Sign in as {{.Login}}{{if .Name}} ({{.Name}}){{end}}</button>
{{end}}<button name="deny" value="yes">Decline</button>
</form>{{end}}
</main></body></html>
`))
