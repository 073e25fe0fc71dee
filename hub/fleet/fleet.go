package fleet

import (
	"log/slog"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Fleet is all Sessions, Runners and people of a Hub.
type Fleet struct {
	st  *store.Store
	bus *bus.Bus
	log *slog.Logger
	now func() time.Time
}

// Options hold what only tests set.
type Options struct {
	Now func() time.Time
}

// New builds a Fleet; it does no work until Run.
func New(st *store.Store, b *bus.Bus, log *slog.Logger, opt Options) *Fleet {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Fleet{st: st, bus: b, log: log, now: opt.Now}
}

// SignIn is one browser that a person is signed in with.
type SignIn struct {
	ID        string    `json:"id"`
	UserAgent string    `json:"user_agent"`
	Address   string    `json:"address"`
	Created   time.Time `json:"created"`
	LastUsed  time.Time `json:"last_used"`
}

// NewSession is what a person asks for. Request is the client's key: the same one twice gives the same Session.
type NewSession struct {
	Runner  claudehub.RunnerID
	Title   string // from the prompt or the source when empty
	Source  claudehub.Source
	Model   string // "default" when empty
	Effort  string // "default" when empty
	Prompt  string // the first prompt; may be empty
	Request string
}

// SessionUpdate changes what is not nil.
type SessionUpdate struct {
	Title, Model, Effort *string
}

// Entry is one line of a Session's history.
type Entry struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind" enum:"turn_started,turn_ended,notice"`
	Text string    `json:"text,omitempty"`
}

// Change is one thing that a person may see and that is now so. Exactly one field is set, but for the first Change of a
// stream: it is zero, and says that from here on nothing is missed.
type Change struct {
	Session *claudehub.Session
	Runner  *claudehub.Runner
	Prompt  *claudehub.Prompt
}

var errEarly = claudehub.Errorf(claudehub.Unavailable, "The Hub is still being put together.")
