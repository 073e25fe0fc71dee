package runner

import (
	"sync"

	"claude-hub/internal/claudehub"
)

// tokens are the credential that requests are signed with, as this process holds it. There are two while the Hub has made
// the next one and nobody has used it yet: it is then used first, and the old one is good until the Hub has seen it.
type tokens struct {
	moved *signal // something has to be written down

	mu    sync.Mutex
	good  claudehub.Token // known to work, or the only one
	next  claudehub.Token // zero when there is none
	works bool            // good was taken by the Hub since it became that
	off   error           // why the Hub is not asked any more; nil while it is
	last  claudehub.Token // the one that was refused, while off
	cut   chan struct{}   // closed when a stream that is open must end
	again chan struct{}   // closed while off is nil
}

func newTokens(good, next claudehub.Token) *tokens {
	t := &tokens{moved: newSignal(), cut: make(chan struct{}), again: make(chan struct{})}
	close(t.again)
	t.setLocked(good, next)
	return t
}

func (t *tokens) setLocked(good, next claudehub.Token) {
	if good.IsZero() {
		good, next = next, claudehub.Token{}
	}
	if t.off != nil {
		close(t.again)
	}
	t.good, t.next, t.works, t.off = good, next, false, nil
}

// set takes up tokens that were read anew. A stream that was opened with others ends.
func (t *tokens) set(good, next claudehub.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setLocked(good, next)
	t.cutLocked()
}

func (t *tokens) cutLocked() {
	close(t.cut)
	t.cut = make(chan struct{})
}

// take is what to sign the next request with, and what a stream that begins with it must end for.
func (t *tokens) take() (claudehub.Token, <-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.off != nil {
		return claudehub.Token{}, nil, t.off
	}
	return t.currentLocked(), t.cut, nil
}

func (t *tokens) currentLocked() claudehub.Token {
	if t.next.IsZero() {
		return t.good
	}
	return t.next
}

// offer puts the next token to use, from the next request on. Streams that are open stay: the Hub knows whose they are.
func (t *tokens) offer(next claudehub.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = next
}

// accepted notes that the Hub took a token.
func (t *tokens) accepted(token claudehub.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case token == t.next && !t.next.IsZero():
		t.good, t.next, t.works = t.next, claudehub.Token{}, true
	case token == t.good && !t.works:
		t.works = true
	default:
		return
	}
	t.moved.set()
}

// refused notes that the Hub did not take a token, and answers whether there is another one to try: a request may have
// been under way while the token changed, and a next one that is not good leaves the old one in use.
func (t *tokens) refused(token claudehub.Token, why error) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.off != nil:
		return false
	case token == t.next && !t.next.IsZero():
		t.next, t.works = claudehub.Token{}, false // it stays on the disk until the old one is seen to work
		return true
	case token != t.currentLocked():
		return true
	}
	t.offLocked(why)
	return false
}

// turnOff has nobody ask the Hub any more, until set.
func (t *tokens) turnOff(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.off == nil {
		t.offLocked(why)
		return
	}
	t.off = why
}

func (t *tokens) offLocked(why error) {
	t.off, t.last, t.again = why, t.good, make(chan struct{})
	t.cutLocked()
	t.moved.set()
}

// on is closed once the Hub may be asked again.
func (t *tokens) on() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.again
}

// held is how things stand.
type held struct {
	good, next, last claudehub.Token
	works            bool
	off              error
}

func (t *tokens) held() held {
	t.mu.Lock()
	defer t.mu.Unlock()
	return held{t.good, t.next, t.last, t.works, t.off}
}
