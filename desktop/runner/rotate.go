package runner

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Times of the token loop.
const (
	pairingLook = 2 * time.Second // between looks at whether somebody paired this Runner anew
	rotateRest  = 5 * time.Minute // between tries for the next token
)

// refusalRests are how long the Hub is left alone after it refused the token, the first time and then: a Hub that was put
// back to yesterday, or an owner who is away for a while, may come to know it again.
var refusalRests = []time.Duration{15 * time.Second, time.Minute, 10 * time.Minute}

// tokenLoop keeps the Runner's credential. It asks for the next token when the one in use is old, and writes each step
// down before the one after it, so that a Runner killed at any point has a token that the Hub takes. It takes up a pairing
// that is made while the Runner runs. When the Hub refuses the token it says so, where a person finds it.
type tokenLoop struct {
	hub    *Hub
	store  *PairingStore
	linked func() bool
	used   func() // has a request made soon, for a token that is to be used first
	log    *slog.Logger
	life   time.Duration // with this Runner's own part of chance
	look   time.Duration
	rest   time.Duration
	rests  []time.Duration

	stamp   string
	since   time.Time // of the token in use
	ask     time.Time // not before then for the next one
	again   time.Time // not before then after a refusal; zero when it is not refused
	refused int       // how often in a row
	settled kept      // what the Pairing's files were last seen to say
}

// kept are the tokens that a kill leaves.
type kept struct{ good, next claudehub.Token }

func newTokenLoop(hub *Hub, linked func() bool, used func(), log *slog.Logger) *tokenLoop {
	return &tokenLoop{
		hub: hub, store: hub.pairing, linked: linked, used: used, log: log,
		// Runners that were paired on one day do not come for their tokens at one moment.
		life: wire.TokenLife + rand.N(wire.TokenLife/10), look: pairingLook, rest: rotateRest, rests: refusalRests,
	}
}

// Run works until ctx ends.
func (l *tokenLoop) Run(ctx context.Context) error {
	if l.store == nil {
		<-ctx.Done() // a token that is kept nowhere stays as it is
		return nil
	}
	l.stamp = l.hub.stamp
	l.remember()
	for ctx.Err() == nil {
		l.hub.tokens.moved.wait(ctx, l.look)
		if err := l.step(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("the Runner's token", "error", err)
		}
	}
	return nil
}

// remember takes from the Pairing how old the token is. One whose age is not known is old.
func (l *tokenLoop) remember() {
	l.since = time.Now().Add(-wire.TokenLife)
	if p, err := l.store.Read(); err == nil && !p.Since.IsZero() && p.Since.Before(time.Now()) {
		l.since = p.Since
	}
}

func (l *tokenLoop) step(ctx context.Context) error {
	if stamp := l.store.stamp(); stamp != l.stamp {
		return l.reload(ctx)
	}
	h := l.hub.tokens.held()
	switch {
	case h.off != nil && l.again.IsZero():
		return l.say(ctx, h)
	case h.off != nil && time.Now().After(l.again):
		l.again = time.Time{}
		return l.reload(ctx)
	case h.off != nil, !h.works:
		return nil //nolint:nilerr // it was said, and is waited out
	}
	l.again, l.refused = time.Time{}, 0
	if err := l.settle(ctx, h); err != nil {
		return err
	}
	if h.next.IsZero() && l.linked() && time.Since(l.since) > l.life && time.Now().After(l.ask) {
		return l.rotate(ctx)
	}
	return nil
}

// say tells a person what to do about a refusal.
func (l *tokenLoop) say(ctx context.Context, h held) error {
	l.again = time.Now().Add(l.rests[min(l.refused, len(l.rests)-1)])
	l.refused++
	l.log.Error("the Hub refuses this Runner's token; Sessions on this machine go on, and the Hub does not see them. "+
		"Pair this Runner again: claude-hub-runner pair --hub "+l.hub.base.String(), "hub_said", claudehub.MessageOf(h.off), "asks_again", l.again.Round(time.Second))
	if h.last.IsZero() {
		return nil
	}
	return l.store.locked(ctx, func() error {
		said := Refusal{At: now(), Why: claudehub.MessageOf(h.off), Token: mark(h.last)}
		var before Refusal
		if readJSON(l.store.refusal(), &before) == nil && before.Token == said.Token {
			said.At = before.At // since when it is so
		}
		return writeJSON(l.store.refusal(), said)
	})
}

// reload takes up what is kept now.
func (l *tokenLoop) reload(ctx context.Context) error {
	var p Pairing
	var good, next claudehub.Token
	err := l.store.locked(ctx, func() (err error) {
		l.stamp = l.store.stamp()
		if p, err = l.store.Read(); err == nil {
			good, next, err = l.store.tokens(ctx)
		}
		return err
	})
	h := l.hub.tokens.held()
	switch {
	case claudehub.CodeOf(err) == claudehub.NotFound:
		l.off(err)
		return nil
	case err != nil:
		l.stamp = "" // at the next look
		return err
	case p.Hub != l.hub.base.String():
		l.off(claudehub.Errorf(claudehub.Unauthenticated,
			"This Runner was paired with another Hub, %s. Start it again: what runs here belongs to the one before.", p.Hub))
		return nil
	}
	l.remember()
	if h.off == nil && (good == h.good || good == h.next) {
		return nil // its own doing
	}
	l.again, l.settled = time.Time{}, kept{}
	l.log.Info("the Runner asks the Hub with the token that is kept now")
	l.hub.tokens.set(good, next)
	return nil
}

// off leaves the Hub alone until somebody pairs anew.
func (l *tokenLoop) off(why error) {
	l.hub.tokens.turnOff(why)
	l.again = time.Now().Add(100 * 365 * 24 * time.Hour)
	l.log.Error("the link to the Hub is off; Sessions on this machine go on", "error", why)
}

// settle writes down which token the Hub took.
func (l *tokenLoop) settle(ctx context.Context, h held) error {
	as := kept{h.good, h.next}
	if l.settled == as {
		return nil
	}
	err := l.store.locked(ctx, func() error {
		good, next, err := l.store.tokens(ctx)
		switch {
		case err != nil:
			return err
		case good == h.good && next.IsZero(), good == h.good && next == h.next:
		case good == h.good: // the next one was refused
			err = l.store.keys.Delete(ctx, nextTokenName)
		case next == h.good:
			err = l.first(ctx, next)
		default:
			l.stamp = "" // somebody paired anew
			return nil
		}
		if err != nil {
			return err
		}
		return removeFile(l.store.refusal())
	})
	if err == nil && l.stamp != "" {
		l.settled = as
	}
	return err
}

// first makes the next token, which the Hub has taken, the one that is kept.
func (l *tokenLoop) first(ctx context.Context, token claudehub.Token) error {
	p, err := l.store.Read()
	if err != nil {
		return err
	}
	p.Since = now()
	if err := l.store.promote(ctx, token); err != nil {
		return err
	}
	if err := writeJSON(l.store.path(), p); err != nil {
		return err
	}
	l.since, l.stamp = p.Since, l.store.stamp()
	l.log.Info("the Runner has a new token for its Hub")
	return nil
}

// rotate asks for the next token and puts it to use. It is on disk before its first use, beside the one before: the Hub
// forgets that one with the first use.
func (l *tokenLoop) rotate(ctx context.Context) error {
	l.ask = time.Now().Add(l.rest + rand.N(l.rest))
	next, err := l.hub.nextToken(ctx)
	if err != nil {
		return fmt.Errorf("ask for the next token: %w", err)
	}
	h := l.hub.tokens.held()
	beside := false
	err = l.store.locked(ctx, func() error {
		good, _, err := l.store.tokens(ctx)
		if err != nil || good != h.good {
			l.stamp = "" // somebody paired anew
			return err
		}
		beside = true
		return l.store.keys.Set(ctx, nextTokenName, next.Reveal())
	})
	if err != nil || !beside {
		return err
	}
	l.settled = kept{} // the disk has one more now
	l.hub.tokens.offer(next)
	l.used()
	return nil
}
