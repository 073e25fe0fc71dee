package fleet

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"claude-hub/hub/bus"
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
	Session *claudehub.Session
	Runner  *claudehub.Runner
	Prompt  *claudehub.Prompt

	Environment *claudehub.Environment
	Build       *claudehub.Build
}

// Changes calls send, from one goroutine, for each change that the person may see. It returns nil when ctx ends, send's
// error, or Unavailable when this stream fell behind: the page then connects again and fetches everything.
func (f *Fleet) Changes(ctx context.Context, p claudehub.PersonID, send func(Change) error) error {
	b := newBacklog()
	stop, err := f.bus.Subscribe(wire.ChangeSubject, func(kind string, data []byte) {
		if kind == bus.Cut {
			b.fail()
			return
		}
		var c changed
		if err := json.Unmarshal(data, &c); err != nil || c.Owner != p {
			return // mayWatch is asked again, with the thing itself
		}
		b.add(waitingChange{kind, c.ID, c.Session})
	})
	if err != nil {
		return err
	}
	defer stop()
	if err := send(Change{}); err != nil {
		return err
	}
	for {
		next, err := b.take(ctx)
		if err != nil || next == nil {
			return err
		}
		c, err := f.lookUp(ctx, p, *next)
		switch {
		case ctx.Err() != nil:
			return nil
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

func (f *Fleet) lookUp(ctx context.Context, p claudehub.PersonID, w waitingChange) (Change, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	switch w.kind {
	case changedSession:
		s, err := f.Watch(ctx, p, claudehub.SessionID(w.id))
		if claudehub.CodeOf(err) == claudehub.NotFound {
			s, err = f.deletedSession(ctx, p, claudehub.SessionID(w.id))
		}
		return Change{Session: &s}, err
	case changedEnvironment:
		e, err := f.Environment(ctx, p, claudehub.EnvironmentID(w.id))
		return Change{Environment: &e}, err
	case changedBuild:
		b, err := f.Build(ctx, p, claudehub.BuildID(w.id))
		return Change{Build: &b}, err
	case changedPrompt:
		if _, err := f.Watch(ctx, p, w.session); err != nil {
			return Change{}, err
		}
		prompt, err := f.st.Read().Prompt(ctx, w.session, claudehub.PromptID(w.id))
		return Change{Prompt: &prompt}, err
	case changedRunner:
		r, err := f.st.Read().Runner(ctx, claudehub.RunnerID(w.id))
		if err == nil {
			err = mayOwn(p, r.Runner)
		}
		return Change{Runner: &r.Runner}, err
	}
	return Change{}, errNoSession // a kind of a newer Hub on the same bus
}

// deletedSession finds a Session whose Runner has deleted it, for the one time that its watchers are told so.
func (f *Fleet) deletedSession(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	s, err := f.st.Read().DeletedSession(ctx, id)
	if err != nil {
		return claudehub.Session{}, absent(err, errNoSession)
	}
	return s.Session, mayWatch(p, s.Session)
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
