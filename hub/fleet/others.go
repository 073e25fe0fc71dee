package fleet

import (
	"context"
	"sync"

	"claude-hub/internal/claudehub"
)

// others are the Sessions of others that one page shows, so that the page's stream need not ask the database about each
// change of somebody else's.
type others struct {
	p claudehub.PersonID

	mu      sync.Mutex
	found   bool // before that, every change may be for the page
	runners map[claudehub.SessionID]claudehub.RunnerID
}

// takes tells whether a change may be for the page. What it takes is looked up, and there it is decided.
func (o *others) takes(kind string, c changed) bool {
	if c.Owner == o.p {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id := c.Session
	switch kind {
	case changedSharing:
		if c.Person == "" || c.Person == o.p {
			return true
		}
		id = claudehub.SessionID(c.ID)
	case changedSession:
		id = claudehub.SessionID(c.ID)
	case changedRunner:
		return !o.found || o.runsLocked(claudehub.RunnerID(c.ID))
	case changedPrompt, changedSuggestion, changedPresence:
	default:
		return false
	}
	_, shown := o.runners[id]
	return shown || !o.found
}

func (o *others) add(id claudehub.SessionID, r claudehub.RunnerID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runners[id] = r
}

// drop tells whether the page showed the Session until now.
func (o *others) drop(id claudehub.SessionID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, shown := o.runners[id]
	delete(o.runners, id)
	return shown
}

func (o *others) runs(r claudehub.RunnerID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runsLocked(r)
}

func (o *others) runsLocked(r claudehub.RunnerID) bool {
	for _, runner := range o.runners {
		if runner == r {
			return true
		}
	}
	return false
}

// findOthers looks at what is there when the page begins.
func (f *Fleet) findOthers(ctx context.Context, o *others) error {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	all, err := f.placesOfOthers(ctx, f.st.Read(), o.p)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range all {
		o.runners[s.ID] = s.Runner
	}
	o.found = true
	return nil
}
