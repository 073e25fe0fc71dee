package runner

import (
	"encoding/json"
	"net/http"
	"sync"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// tokenRules are what a Hub does with a Runner's tokens: the old one is good until the next one is first used.
type tokenRules struct {
	mu         sync.Mutex
	good, next claudehub.Token
	spoilt     bool // the next ones that it makes are not known to it
	made       int  // how many it gave
	used       int  // how many of them were used
	denied     int  // how often it refused
}

// take tells whether a request is let in.
func (k *tokenRules) take(r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	auth := r.Header.Get("Authorization")
	switch {
	case !k.next.IsZero() && auth == "Bearer "+k.next.Reveal():
		k.good, k.next = k.next, claudehub.Token{}
		k.used++
		return true
	case !k.good.IsZero() && auth == "Bearer "+k.good.Reveal():
		return true
	}
	k.denied++
	return false
}

// give answers with the next token.
func (k *tokenRules) give(w http.ResponseWriter, _ *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := claudehub.NewToken(claudehub.RunnerToken)
	if !k.spoilt {
		k.next = next
	}
	k.made++
	_ = json.NewEncoder(w).Encode(wire.NewToken{Token: next.Reveal()})
}

// revoke makes no token good any more.
func (k *tokenRules) revoke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.good, k.next = claudehub.Token{}, claudehub.Token{}
}

// enrol makes this one good, as pairing anew does.
func (k *tokenRules) enrol() claudehub.Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.good, k.next = claudehub.NewToken(claudehub.RunnerToken), claudehub.Token{}
	return k.good
}

func (k *tokenRules) counts() (made, used, denied int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made, k.used, k.denied
}
