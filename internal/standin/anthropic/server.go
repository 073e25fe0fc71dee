package anthropic

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Name is what the stand-in calls itself.
const Name = "stand-in for Anthropic (claude-hub)"

const (
	maxBody      = 64 << 20
	readTimeout  = 60 * time.Second
	writeTimeout = 60 * time.Second
)

// Options configure a Server.
type Options struct {
	Script *Script // nil is Echo
	// Token is the bearer token that every call must carry; "" takes any that is not empty.
	Token string
}

// Server is the stand-in.
type Server struct {
	script *Script
	token  *[sha256.Size]byte // nil takes any
	rec    *recorder
	gates  *gates

	mu     sync.Mutex     // guards errors
	errors map[string]int // errors given so far, by rule, prompt and step
}

// New makes a Server. A script that was not read by ParseScript is compiled here; a bad one is an error.
func New(o Options) (*Server, error) {
	if o.Script == nil {
		o.Script = Echo()
	}
	if err := o.Script.compile(); err != nil {
		return nil, fmt.Errorf("compile script: %w", err)
	}
	s := &Server{script: o.Script, rec: newRecorder(), gates: newGates(), errors: map[string]int{}}
	if o.Token != "" {
		sum := sha256.Sum256([]byte(o.Token))
		s.token = &sum
	}
	return s, nil
}

// Handler serves the API and, below /standin/, what tests ask.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.guard("prompt", s.messages))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.guard("count_tokens", s.countTokens))
	mux.HandleFunc("GET /v1/models", s.guard("models", s.models))
	mux.HandleFunc("GET /v1/models/{id}", s.guard("models", s.model))
	mux.HandleFunc("GET /{$}", s.alive) // and HEAD
	mux.HandleFunc("GET /standin/log", s.serveLog)
	mux.HandleFunc("POST /standin/release", s.serveRelease)
	mux.HandleFunc("/", s.guard("other", func(w http.ResponseWriter, r *http.Request, q *Request) {
		s.refuse(w, q, http.StatusNotFound, "the stand-in does not know "+r.URL.Path)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Stand-In", "anthropic")
		w.Header().Set("Server", "standin-anthropic")
		mux.ServeHTTP(w, r)
	})
}

// Log returns what was seen so far.
func (s *Server) Log() Log {
	l := s.rec.log()
	l.Hanging = s.gates.names()
	return l
}

// Release lets the answers go that hang on a name, or the next one when none does. It returns how many went.
func (s *Server) Release(name string) int { return s.gates.release(name) }

type handler func(http.ResponseWriter, *http.Request, *Request)

// guard records a call and refuses it without the right token.
func (s *Server) guard(kind string, next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ok := s.authentic(r)
		q := s.rec.add(Request{Method: r.Method, Path: r.URL.Path, Kind: kind, TokenOK: ok})
		if !ok {
			s.rec.fail(fmt.Sprintf("request %d (%s %s): wrong or no bearer token", q.Number, r.Method, r.URL.Path))
			s.refuse(w, q, http.StatusUnauthorized, "stand-in: invalid bearer token")
			return
		}
		next(w, r, q)
	}
}

func (s *Server) authentic(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || given == "" {
		return false
	}
	if s.token == nil {
		return true
	}
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

func (s *Server) refuse(w http.ResponseWriter, q *Request, status int, message string) {
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome = status, "refused" })
	_ = writeError(w, status, message) // the caller may be gone, and there is nobody else to tell
}

// read returns the body, or answers the error itself.
func (s *Server) read(w http.ResponseWriter, r *http.Request, q *Request) ([]byte, bool) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		status := http.StatusBadRequest
		if errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		s.refuse(w, q, status, "stand-in: "+err.Error())
		return nil, false
	}
	// Without this the deadline would later be taken for the caller's leaving.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return b, true
}

func (s *Server) done(q *Request, err error) {
	s.rec.update(q, func(q *Request) {
		q.Status, q.Outcome = http.StatusOK, "answered"
		if err != nil {
			q.Outcome = "left"
		}
	})
}

func (s *Server) alive(w http.ResponseWriter, r *http.Request) {
	q := s.rec.add(Request{Method: r.Method, Path: r.URL.Path, Kind: "alive", TokenOK: s.authentic(r)})
	s.done(q, writeJSON(w, http.StatusOK, m{"name": Name}))
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request, q *Request) {
	if b, ok := s.read(w, r, q); ok {
		s.done(q, writeJSON(w, http.StatusOK, m{"input_tokens": tokens(string(b))}))
	}
}

func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	_ = writeJSON(w, http.StatusOK, s.Log())
}

func (s *Server) serveRelease(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	if name == "" {
		_ = writeError(w, http.StatusBadRequest, "stand-in: say which name to release (?name=)")
		return
	}
	_ = writeJSON(w, http.StatusOK, m{"released": s.Release(name)})
}
