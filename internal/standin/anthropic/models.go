package anthropic

import "net/http"

// modelIDs are what GET /v1/models lists. Any other model is answered too: the script's "expect" is what refuses.
var modelIDs = []string{"claude-sonnet-5", "claude-opus-4-8", "claude-haiku-4-5"}

func modelOf(id string) m {
	return m{"type": "model", "id": id, "display_name": "Stand-in for " + id, "created_at": "2026-01-01T00:00:00Z"}
}

func (s *Server) models(w http.ResponseWriter, r *http.Request, q *Request) {
	list := []m{}
	for _, id := range modelIDs {
		list = append(list, modelOf(id))
	}
	s.done(q, writeJSON(w, http.StatusOK, m{"data": list, "has_more": false, "first_id": modelIDs[0], "last_id": modelIDs[len(modelIDs)-1]}))
}

func (s *Server) model(w http.ResponseWriter, r *http.Request, q *Request) {
	s.done(q, writeJSON(w, http.StatusOK, modelOf(r.PathValue("id"))))
}
