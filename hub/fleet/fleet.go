package fleet

import (
	"log/slog"
	"sync"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/github"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Fleet is all Sessions, Runners and people of a Hub.
type Fleet struct {
	st  *store.Store
	bus *bus.Bus
	log *slog.Logger
	now func() time.Time
	hub string // this Hub process, among those that share a database

	secrets *secret.Box // nil beside a running Hub, where no Variable is read

	github   GitHub // nil in local mode
	allow    github.AllowList
	redirect string
	recheck  time.Duration

	mu      sync.Mutex
	streams map[streamKey]time.Time // that this process serves, with their last sign of life

	refused  refusals
	sights   *sights
	presence *presence
}

// Options are what New can be given. Without Secrets, no Variable can be read or written; only tests set Now.
type Options struct {
	Secrets *secret.Box
	Now     func() time.Time

	// GitHub is whom people sign in with; nil is local mode. Allow says who may, Redirect is the address that GitHub sends
	// browsers back to (…/api/auth/github/callback), and Recheck is how long an answer about a person counts; 0 is 15
	// minutes.
	GitHub   GitHub
	Allow    github.AllowList
	Redirect string
	Recheck  time.Duration

	// Sighter tells who sees a repository; nil is the GitHub that people sign in with, if there is one.
	Sighter Sighter
}

// New builds a Fleet. It looks after time (expiry, silence) only while Run runs.
func New(st *store.Store, b *bus.Bus, log *slog.Logger, opt Options) *Fleet {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Recheck <= 0 {
		opt.Recheck = defaultRecheck
	}
	now := func() time.Time { return store.Round(opt.Now()) }
	if s, ok := opt.GitHub.(Sighter); ok && opt.Sighter == nil {
		opt.Sighter = s
	}
	return &Fleet{st: st, bus: b, log: log, now: now, hub: claudehub.NewNonce(), secrets: opt.Secrets,
		github: opt.GitHub, allow: opt.Allow, redirect: opt.Redirect, recheck: opt.Recheck, streams: map[streamKey]time.Time{},
		sights: newSights(opt.Sighter), presence: newPresence()}
}
