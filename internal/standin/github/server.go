package github

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Name is what the stand-in calls itself.
const Name = "claude-hub stand-in for GitHub"

const (
	maxBody     = 64 << 10
	readTimeout = 10 * time.Second
)

// Options are what a stand-in is made of.
type Options struct {
	Script       Script
	ClientSecret string // what the application must show; empty takes any
}

// Server is a stand-in.
type Server struct {
	secret   *hash
	world    *world
	failures failures
	rec      recorder
}

type m = map[string]any

// New makes a stand-in; it serves once its Handler is served.
func New(o Options) (*Server, error) {
	if err := o.Script.check(); err != nil {
		return nil, err
	}
	s := &Server{world: newWorld(o.Script), failures: failures{by: map[string]Failure{}}}
	if o.ClientSecret != "" {
		sum := sha256.Sum256([]byte(o.ClientSecret))
		s.secret = &sum
	}
	return s, nil
}

// Log returns what was seen so far.
func (s *Server) Log() Log { return s.rec.log() }

// Handler serves both layouts and the control.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.home(w) })
	mux.HandleFunc("GET /login/oauth/authorize", s.guard(Authorize, s.authorizePage))
	mux.HandleFunc("POST /login/oauth/authorize", s.guard(Authorize, s.decide))
	mux.HandleFunc("POST /login/oauth/access_token", s.guard(AccessToken, s.accessToken))
	for _, base := range []string{"", "/api/v3"} {
		mux.HandleFunc("GET "+base+"/user", s.api(User, s.user))
		mux.HandleFunc("GET "+base+"/user/orgs", s.api(UserOrgs, s.userOrgs))
		mux.HandleFunc("GET "+base+"/user/memberships/orgs/{org}", s.api(OrgMembership, s.orgMembership))
		mux.HandleFunc("GET "+base+"/orgs/{org}/teams/{team}/memberships/{login}", s.api(TeamMember, s.teamMembership))
		mux.HandleFunc("GET "+base+"/user/installations", s.api(Installations, s.installations))
		mux.HandleFunc("GET "+base+"/repos/{owner}/{repo}", s.api(RepoEndpoint, s.repo))
		mux.HandleFunc("POST "+base+"/applications/{client}/token", s.guard(CheckToken, s.checkToken))
		mux.HandleFunc("DELETE "+base+"/applications/{client}/token", s.guard(DeleteToken, s.deleteToken))
	}
	s.control(mux)
	mux.HandleFunc("/", s.guard("other", func(w http.ResponseWriter, r *http.Request, q *Request) {
		s.no(w, q, http.StatusNotFound, "Not Found")
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Stand-In", "github")
		w.Header().Set("Server", "standin-github")
		if !loopback(r.Host) {
			refuse(w, http.StatusMisdirectedRequest, "stand-in: it serves this machine alone, under its loopback address")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// loopback keeps pages of other names away, which could point their name at this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

type handler func(http.ResponseWriter, *http.Request, *Request)

// guard records a call and plays the failure that is scripted for it.
func (s *Server) guard(endpoint string, next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := s.rec.add(Request{Method: r.Method, Path: r.URL.Path, Endpoint: endpoint})
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if f, ok := s.failures.take(endpoint); ok {
			// The server sees a caller leave only once the body is read, and would take the deadline for leaving.
			b, _ := io.ReadAll(r.Body) // what is missing of it the endpoint finds out
			r.Body = io.NopCloser(bytes.NewReader(b))
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			s.rec.update(q, func(q *Request) { q.Failure, q.Outcome = string(f.Kind), "failed" })
			if f.play(w, r) {
				return
			}
		}
		next(w, r, q)
	}
}

// refuse answers as GitHub's API refuses.
func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, m{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)})
}

// no refuses a call and records why.
func (s *Server) no(w http.ResponseWriter, q *Request, status int, message string) {
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome, q.Reason = status, "refused", message })
	refuse(w, status, message)
}

func (s *Server) yes(w http.ResponseWriter, q *Request, v any) {
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome = http.StatusOK, "answered" })
	writeJSON(w, http.StatusOK, v)
}

// writeJSON answers; the caller may be gone, and there is nobody else to tell.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// known tells whether the application showed its secret.
func (s *Server) known(client, secret string) bool {
	if client != s.world.snapshot().App.ClientID || secret == "" {
		return false
	}
	if s.secret == nil {
		return true
	}
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], s.secret[:]) == 1
}

// decode reads a JSON body into v, or returns the status to refuse with.
func decode(r *http.Request, v any) (int, error) {
	err := json.NewDecoder(r.Body).Decode(v)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return http.StatusOK, nil
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, err
	}
	return http.StatusBadRequest, errors.New("problems parsing JSON")
}
