package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

func (s *server) allPeople(ctx context.Context, c personCaller, _ *Empty) (*itemsOut[claudehub.Person], error) {
	return items(s.fleet.People(ctx, c.Person))
}

// PersonPath names a person in a path.
type PersonPath struct {
	ID string `path:"id" maxLength:"64"`
}

// RoleChange is the body of role-person.
type RoleChange struct {
	Role claudehub.Role `json:"role" enum:"member,admin"`
}

func (s *server) setRole(ctx context.Context, c personCaller, in *struct {
	PersonPath
	Body RoleChange
}) (*struct{ Body claudehub.Person }, error) {
	p, err := s.fleet.SetRole(ctx, c.Person, claudehub.PersonID(in.ID), in.Body.Role)
	if err != nil {
		return nil, err
	}
	return &struct{ Body claudehub.Person }{p}, nil
}

func (s *server) signOutPerson(ctx context.Context, c personCaller, in *PersonPath) (*Empty, error) {
	return &Empty{}, s.fleet.SignOutPerson(ctx, c.Person, claudehub.PersonID(in.ID))
}

func (s *server) allRunners(ctx context.Context, c personCaller, _ *Empty) (*itemsOut[fleet.OwnedRunner], error) {
	all, err := s.fleet.AllRunners(ctx, c.Person)
	for i := range all {
		all[i].Runner = whole(all[i].Runner)
	}
	return items(all, err)
}

// AuditQuery chooses lines of the audit log; what is empty chooses all.
type AuditQuery struct {
	Actor  string    `query:"actor" maxLength:"200" doc:"an id or a login"`
	Action string    `query:"action" maxLength:"200" doc:"session.share; session. is all that begin so"`
	Target string    `query:"target" maxLength:"200" doc:"an id"`
	From   time.Time `query:"from"`
	To     time.Time `query:"to"`
	Before int64     `query:"before" minimum:"0" doc:"go on to older lines: the lowest seq so far"`
	Limit  int       `query:"limit" minimum:"0" maximum:"500"`
}

func (s *server) auditLog(ctx context.Context, c personCaller, in *AuditQuery) (*itemsOut[claudehub.AuditEntry], error) {
	return items(s.fleet.AuditLog(ctx, c.Person, fleet.AuditFilter{
		Actor: in.Actor, Action: in.Action, Target: in.Target, From: in.From, To: in.To, Before: in.Before, Limit: in.Limit,
	}))
}

// exportTime is how long a slow client may take for one piece of an export.
const (
	exportTime  = 30 * time.Second
	exportPiece = 64 << 10
)

// exportAudit is the whole log, or what a filter chooses, one JSON object a line, oldest first.
func (s *server) exportAudit(w http.ResponseWriter, r *http.Request, c personCaller) error {
	filter, err := filterOf(r.URL.Query())
	if err != nil {
		return err
	}
	piece := &slowly{w, http.NewResponseController(w)}
	out := bufio.NewWriterSize(piece, exportPiece)
	h := w.Header()
	h.Set("Content-Type", "application/jsonl")
	h.Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	h.Set("Cache-Control", noStore)
	lines := json.NewEncoder(out)
	err = s.fleet.ExportAudit(r.Context(), c.Person, filter, func(e claudehub.AuditEntry) error { return lines.Encode(e) })
	if err == nil {
		err = out.Flush()
	}
	rec := recordOf(r.Context())
	if err != nil && rec.status != 0 {
		rec.err = err
		panic(http.ErrAbortHandler) // the answer has begun: one that is cut off is told from a whole one
	}
	if err != nil {
		h.Del("Content-Disposition")
	}
	return err
}

// slowly gives each write its own time.
type slowly struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (s *slowly) Write(b []byte) (int, error) {
	if err := s.control.SetWriteDeadline(time.Now().Add(exportTime)); err != nil {
		return 0, err
	}
	return s.ResponseWriter.Write(b)
}

func filterOf(q url.Values) (fleet.AuditFilter, error) {
	f := fleet.AuditFilter{Actor: limitText(q.Get("actor"), 200), Action: limitText(q.Get("action"), 200), Target: limitText(q.Get("target"), 200)}
	for name, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if text := q.Get(name); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return f, claudehub.Errorf(claudehub.Invalid, "%q is no time: write it as 2026-11-29T12:00:00Z.", name)
			}
			*at = t
		}
	}
	if text := q.Get("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return f, claudehub.Errorf(claudehub.Invalid, "%q is a number of a line.", "before")
		}
		f.Before = n
	}
	return f, nil
}
