package web

import (
	"sync"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// Bounds of what waits for one Runner's stream. A paste, encoded, has less than 1 MiB.
const (
	linkEvents = 4096
	linkBytes  = 8 << 20
)

var (
	errLinkSlow     = claudehub.Errorf(claudehub.TooMany, "The Runner takes its events too slowly and was cut off.")
	errLinkCut      = claudehub.Errorf(claudehub.Unavailable, "Events for the Runner were lost on the way; it connects again.")
	errLinkRevoked  = claudehub.Errorf(claudehub.Unauthenticated, "The Hub does not know this Runner any more.")
	errLinkReplaced = claudehub.Errorf(claudehub.Conflict, "The Runner opened another stream.")
)

type ephemeral struct {
	kind string
	data []byte
}

// link is one Runner's stream in this Hub process: what waits to be written. Whoever adds to it never waits.
type link struct {
	instance string
	wake     chan struct{}
	done     chan struct{} // closed when the stream has let go of everything

	mu       sync.Mutex
	token    claudehub.Token // that the Runner used last
	before   claudehub.Token // and the one before it
	queue    []ephemeral
	bytes    int
	nudged   bool
	replaced bool
	err      error // why the stream must end
}

func newLink(instance string, token claudehub.Token) *link {
	return &link{instance: instance, token: token, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// replace ends a link whose Runner process opened another: it must not let go of the lease.
func (l *link) replace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced = true
	l.endLocked(errLinkReplaced)
}

func (l *link) endLocked(err error) {
	if l.err == nil {
		l.err = err
	}
	l.poke()
}

func (l *link) use(token claudehub.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token != l.token {
		l.token, l.before = token, l.token
	}
}

func (l *link) tokens() (last, before claudehub.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token, l.before
}

// add takes what the fleet says to this Runner.
func (l *link) add(kind string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.poke()
	switch {
	case l.err != nil:
	case kind == bus.Cut:
		l.err = errLinkCut
	case kind == fleet.Revoked:
		l.err = errLinkRevoked
		l.queue = nil // what waits is not for it any more
	case kind == fleet.Nudge:
		l.nudged = true
	case len(l.queue) >= linkEvents || l.bytes+len(data) > linkBytes:
		l.err = errLinkSlow
		l.queue = nil
	default:
		l.queue = append(l.queue, ephemeral{kind, data})
		l.bytes += len(data)
	}
}

// take empties the link.
func (l *link) take() (queue []ephemeral, nudged bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, nudged, err = l.queue, l.nudged, l.err
	l.queue, l.bytes, l.nudged = nil, 0, false
	return queue, nudged, err
}
