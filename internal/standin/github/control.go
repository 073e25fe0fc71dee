package github

import (
	"mime"
	"net/http"
	"time"
)

// control is how scripts outside of Go steer the stand-in.
func (s *Server) control(mux *http.ServeMux) {
	mux.HandleFunc("GET /standin/log", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.Log()) })
	mux.HandleFunc("GET /standin/script", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.Script()) })
	mux.HandleFunc("POST /standin/fail", steer(func(f Failure) (any, error) { return m{}, s.Fail(f) }))
	mux.HandleFunc("POST /standin/heal", steer(func(struct{}) (any, error) { s.Heal(); return m{}, nil }))
	mux.HandleFunc("POST /standin/person", steer(func(p Person) (any, error) { return m{}, s.SetPerson(p) }))
	mux.HandleFunc("POST /standin/member", steer(func(in placing) (any, error) {
		return m{}, s.SetMember(in.Org, in.Person, in.State)
	}))
	mux.HandleFunc("POST /standin/team", steer(func(in placing) (any, error) {
		return m{}, s.SetTeamMember(in.Org, in.Team, in.Person, in.State)
	}))
	mux.HandleFunc("POST /standin/reader", steer(func(in struct {
		Repo   string `json:"repo"`
		Person int64  `json:"person"`
		Sees   bool   `json:"sees"`
	}) (any, error) {
		return m{}, s.SetReader(in.Repo, in.Person, in.Sees)
	}))
	mux.HandleFunc("POST /standin/revoke", steer(func(in struct {
		Person int64 `json:"person"`
	}) (any, error) {
		return m{"revoked": s.Revoke(in.Person)}, nil
	}))
	mux.HandleFunc("POST /standin/clock", steer(func(in struct {
		AdvanceSeconds int `json:"advanceSeconds"`
	}) (any, error) {
		s.Advance(time.Duration(in.AdvanceSeconds) * time.Second)
		return m{}, nil
	}))
	mux.HandleFunc("POST /standin/app", steer(func(a App) (any, error) { return m{}, s.SetApp(a) }))
}

type placing struct {
	Org    string `json:"org"`
	Team   string `json:"team"`
	Person int64  `json:"person"`
	State  string `json:"state"`
}

func steer[In any](do func(In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "stand-in: send JSON, with its Content-Type")
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		var in In
		if status, err := decode(r, &in); err != nil {
			refuse(w, status, "stand-in: "+err.Error())
			return
		}
		out, err := do(in)
		if err != nil {
			refuse(w, http.StatusBadRequest, "stand-in: "+err.Error())
			return
		}
		writeJSON(w, http.StatusOK, out)
	}
}
