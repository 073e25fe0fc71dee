package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
	"unicode/utf8"
)

// The log is bounded: a demo may run for days.
const (
	maxRequests = 10_000
	maxPrompts  = 10_000
	maxExcerpt  = 200
)

// Request is one line of the log.
type Request struct {
	Number  int       `json:"number"`
	At      time.Time `json:"at"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Kind    string    `json:"kind"` // prompt, aside, count_tokens, models, alive, other
	TokenOK bool      `json:"tokenOK"`
	Model   string    `json:"model,omitempty"`
	Effort  string    `json:"effort,omitempty"`
	Stream  bool      `json:"stream,omitempty"`
	Tools   int       `json:"tools,omitempty"`
	Prompt  string    `json:"prompt,omitempty"` // the first characters
	Turns   int       `json:"turns,omitempty"`  // texts of the person in the conversation so far
	Rule    string    `json:"rule,omitempty"`
	Answer  int       `json:"answer,omitempty"` // which answer of the rule: the tools before it
	Status  int       `json:"status"`
	Outcome string    `json:"outcome"` // open, answered, refused, failed, cut, left (the caller went away)
}

// Prompt counts what was asked with one text.
type Prompt struct {
	Text        string `json:"text"` // the first characters
	SHA256      string `json:"sha256"`
	Bytes       int    `json:"bytes"`
	Requests    int    `json:"requests"`    // all requests, with those that carry tool results and those tried again
	Starts      int    `json:"starts"`      // requests that carry the text and no tool result after it
	Occurrences int    `json:"occurrences"` // the most often that the text stood in one conversation
}

// Log is what the stand-in saw.
type Log struct {
	StandIn  string    `json:"standIn"`
	Requests []Request `json:"requests"`
	Prompts  []Prompt  `json:"prompts"`
	Failures []string  `json:"failures"` // broken expectations
	Hanging  []string  `json:"hanging"`  // names that an answer waits for now
}

// recorder keeps the log.
type recorder struct {
	mu       sync.Mutex // guards all below
	next     int
	requests []*Request
	prompts  []*Prompt
	byHash   map[string]*Prompt
	failures []string
}

func newRecorder() *recorder { return &recorder{byHash: map[string]*Prompt{}} }

// add opens a line and returns it; it is changed through update alone.
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

func (r *recorder) fail(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) < maxRequests {
		r.failures = append(r.failures, what)
	}
}

// prompt counts a request of a prompt.
func (r *recorder) prompt(text string, answer, occurrences int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := sha256.Sum256([]byte(text))
	key := hex.EncodeToString(sum[:])
	p := r.byHash[key]
	if p == nil {
		if len(r.prompts) == maxPrompts {
			return
		}
		p = &Prompt{Text: excerpt(text), SHA256: key, Bytes: len(text)}
		r.byHash[key] = p
		r.prompts = append(r.prompts, p)
	}
	p.Requests++
	if answer == 0 {
		p.Starts++
	}
	p.Occurrences = max(p.Occurrences, occurrences)
}

func (r *recorder) log() Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Log{StandIn: Name, Requests: []Request{}, Prompts: []Prompt{}, Failures: append([]string{}, r.failures...)}
	for _, q := range r.requests {
		l.Requests = append(l.Requests, *q)
	}
	for _, p := range r.prompts {
		l.Prompts = append(l.Prompts, *p)
	}
	return l
}

// excerpt returns the first characters of a text, never half of one.
func excerpt(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	n := maxExcerpt
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
