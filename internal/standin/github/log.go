package github

import (
	"sync"
	"time"
)

const maxRequests = 10_000 // a demo may run for days

// Request is one line of the log. It holds no query, no body and no credential.
type Request struct {
	Number   int       `json:"number"`
	At       time.Time `json:"at"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Endpoint string    `json:"endpoint"`
	Person   int64     `json:"person,omitempty"`  // whose token or decision it was
	PKCE     bool      `json:"pkce,omitempty"`    // a challenge or a verifier came with it
	Failure  string    `json:"failure,omitempty"` // the kind of a scripted failure
	Status   int       `json:"status"`            // 0 while it is open, and for a cut connection
	Outcome  string    `json:"outcome"`           // open, answered, refused, failed
	Reason   string    `json:"reason,omitempty"`  // why it was refused
}

// Log is what the stand-in saw.
type Log struct {
	StandIn  string    `json:"standIn"`
	Requests []Request `json:"requests"`
}

// Count returns how many requests an endpoint got.
func (l Log) Count(endpoint string) int {
	n := 0
	for _, q := range l.Requests {
		if q.Endpoint == endpoint {
			n++
		}
	}
	return n
}

type recorder struct {
	mu       sync.Mutex // guards both
	next     int
	requests []*Request
}

// add opens a line; it is changed through update alone.
func (r *recorder) add(q Request) *Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	q.Number, q.At, q.Outcome = r.next, time.Now().UTC(), "open"
	if len(r.requests) == maxRequests {
		r.requests = append(r.requests[:0], r.requests[1:]...)
	}
	r.requests = append(r.requests, &q)
	return &q
}

func (r *recorder) update(q *Request, change func(*Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(q)
}

func (r *recorder) log() Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Log{StandIn: Name, Requests: make([]Request, len(r.requests))}
	for i, q := range r.requests {
		l.Requests[i] = *q
	}
	return l
}
