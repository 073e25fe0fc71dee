package fleet

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet/policy"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	// maxBacklog bounds how many different things may wait for one page. Changes of the same thing wait as one.
	maxBacklog  = 2048
	changeLimit = 10 * time.Second // for looking one up
)

// Change is one thing that a person may see, as it is now. Exactly one field is set, but for the first Change of a
// stream: it is zero, and says that from here on nothing is missed.
type Change struct {
	// Session that is deleted is nothing but its id to who may not watch it any more.
	Session *claudehub.Session
	Runner  *claudehub.Runner
	Prompt  *claudehub.Prompt

	Environment *claudehub.Environment
	Build       *claudehub.Build

	Suggestion *claudehub.Suggestion
	Presence   *Presence
	// Link is how the Runner of a Session is reached that the person watches: all that is told of another's Runner.
	Link *RunnerLink
}

// RunnerLink is the hop from Hub to a Runner.
type RunnerLink struct {
	Runner claudehub.RunnerID `json:"runner"`
	Name   string             `json:"name"`
	Link   claudehub.Link     `json:"link"`
}

// Changes calls send, from one goroutine, for each change that the person may see. It returns nil when ctx ends, send's
// error, or Unavailable when this stream fell behind: the page then connects again and fetches everything.
func (f *Fleet) Changes(ctx context.Context, p claudehub.PersonID, send func(Change) error) error {
	b, o := newBacklog(), &others{p: p, runners: map[claudehub.SessionID]claudehub.RunnerID{}}
	stop, err := f.bus.Subscribe(wire.ChangeSubject, func(kind string, data []byte) {
		if kind == bus.Cut {
			b.fail()
			return
		}
		var c changed
		if err := json.Unmarshal(data, &c); err != nil || !o.takes(kind, c) {
			return // whether the person may see it is asked again, with the thing itself
		}
		if kind == changedSharing {
			kind = changedSession
		}
		b.add(waitingChange{kind, c.ID, c.Session})
	})
	if err != nil {
		return err
	}
	defer stop()
	defer f.presence.listen(func(owner claudehub.PersonID, id claudehub.SessionID) {
		if o.takes(changedPresence, changed{Owner: owner, Session: id}) {
			b.add(waitingChange{changedPresence, string(id), id})
		}
	})()
	if err := f.findOthers(ctx, o); err != nil {
		return err
	}
	if err := send(Change{}); err != nil {
		return err
	}
	return f.sendChanges(ctx, b, o, send)
}

func (f *Fleet) sendChanges(ctx context.Context, b *backlog, o *others, send func(Change) error) error {
	for {
		next, err := b.take(ctx)
		if err != nil || next == nil {
			return err
		}
		c, err := f.lookUp(ctx, o, *next)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // nobody is there to be told
		case claudehub.CodeOf(err) == claudehub.NotFound:
			continue
		case err != nil:
			return err
		}
		if err := send(c); err != nil {
			return err
		}
	}
}

func (f *Fleet) lookUp(ctx context.Context, o *others, w waitingChange) (Change, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	switch w.kind {
	case changedSession:
		return f.lookUpSession(ctx, o, claudehub.SessionID(w.id))
	case changedEnvironment:
		e, err := f.Environment(ctx, o.p, claudehub.EnvironmentID(w.id))
		return Change{Environment: &e}, err
	case changedBuild:
		b, err := f.Build(ctx, o.p, claudehub.BuildID(w.id))
		return Change{Build: &b}, err
	case changedRunner:
		r, err := f.st.Read().Runner(ctx, claudehub.RunnerID(w.id))
		switch {
		case err == nil && mayOwn(o.p, r.Runner) != nil && o.runs(r.ID):
			return Change{Link: &RunnerLink{r.ID, r.Name, r.Link}}, nil
		case err == nil:
			err = mayOwn(o.p, r.Runner)
		}
		return Change{Runner: &r.Runner}, err
	case changedPrompt, changedSuggestion, changedPresence:
		if err := f.StillWatches(ctx, o.p, w.session); err != nil {
			return Change{}, err
		}
		return f.lookUpIn(ctx, w)
	}
	return Change{}, errNoSession // a kind of a newer Hub on the same bus
}

// lookUpIn finds what belongs to a Session that the person may watch.
func (f *Fleet) lookUpIn(ctx context.Context, w waitingChange) (Change, error) {
	switch w.kind {
	case changedPrompt:
		prompt, err := f.st.Read().Prompt(ctx, w.session, claudehub.PromptID(w.id))
		return Change{Prompt: &prompt}, err
	case changedSuggestion:
		s, err := f.st.Read().Suggestion(ctx, claudehub.SuggestionID(w.id))
		if err == nil && s.Session != w.session {
			err = errNoSuggestion
		}
		return Change{Suggestion: &s}, err
	}
	return Change{Presence: &Presence{w.session, f.Watchers(ctx, w.session)}}, nil
}

// lookUpSession: one that was there for the person and is not any more is told once, as one that was deleted is.
func (f *Fleet) lookUpSession(ctx context.Context, o *others, id claudehub.SessionID) (Change, error) {
	s, err := f.Watch(ctx, o.p, id)
	switch {
	case err == nil && s.Access != claudehub.AccessCreator:
		o.add(id, s.Runner)
		return Change{Session: &s}, nil
	case claudehub.CodeOf(err) != claudehub.NotFound:
		return Change{Session: &s}, err
	case o.drop(id):
		s = f.gone(id)
		return Change{Session: &s}, nil
	}
	s, err = f.deletedSession(ctx, o.p, id)
	return Change{Session: &s}, err
}

// deletedSession finds a Session whose Runner has deleted it, for the one time that its Creator's pages are told so.
func (f *Fleet) deletedSession(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	s, err := f.st.Read().DeletedSession(ctx, id)
	if err != nil {
		return claudehub.Session{}, absent(err, errNoSession)
	}
	a := policy.Access(p, s.Creator, policy.Grant{})
	if err := policy.Watch(a); err != nil {
		return claudehub.Session{}, err
	}
	return f.showOne(ctx, f.st.Read(), a, s)
}

// waitingChange names a thing that a page has to be told about.
type waitingChange struct {
	kind, id string
	session  claudehub.SessionID
}

// backlog is what waits for one page, in order of its first change, each thing once.
type backlog struct {
	wake chan struct{} // holds one token when there may be something

	mu     sync.Mutex
	order  []waitingChange
	has    map[waitingChange]bool
	failed bool
}

func newBacklog() *backlog {
	return &backlog{wake: make(chan struct{}, 1), has: map[waitingChange]bool{}}
}

func (b *backlog) add(w waitingChange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has[w] {
		return
	}
	if len(b.order) == maxBacklog {
		b.failed = true
	} else {
		b.has[w] = true
		b.order = append(b.order, w)
	}
	b.wakeLocked()
}

func (b *backlog) fail() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = true
	b.wakeLocked()
}

func (b *backlog) wakeLocked() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take waits for the next one; nil when ctx ended.
func (b *backlog) take(ctx context.Context) (*waitingChange, error) {
	for {
		if next, err := b.poll(); next != nil || err != nil {
			return next, err
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-b.wake:
		}
	}
}

func (b *backlog) poll() (*waitingChange, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed {
		return nil, claudehub.Errorf(claudehub.Unavailable, "This page fell behind what changes. It has to load everything again.")
	}
	if len(b.order) == 0 {
		return nil, nil
	}
	w := b.order[0]
	b.order = b.order[1:]
	delete(b.has, w)
	return &w, nil
}
