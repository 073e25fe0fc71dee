package hub

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/hub/screen"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
)

const openLimit = 2 * time.Minute // for the database, with migrations, and the bus

// Hub is one Hub process.
type Hub struct {
	cfg     Config
	log     *slog.Logger
	parts   *parts
	unlock  func()
	feeds   *screen.Feeds
	metrics *web.Metrics
	handler http.Handler
	secured secured
	forget  func() // lets go of connections to GitHub
}

// New builds a Hub. It ends with Run, or with Close if it is never run.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Hub, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := prepareData(cfg.Data); err != nil {
		return nil, err
	}
	unlock, err := lockData(cfg.Data)
	if err != nil {
		return nil, err
	}
	h := &Hub{cfg: cfg, log: log, unlock: unlock, metrics: web.NewMetrics(), forget: func() {}}
	if err := h.build(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// build refuses what the configuration names and cannot be used before it makes anything.
func (h *Hub) build(ctx context.Context) (err error) {
	proxies, err := h.cfg.proxies()
	if err != nil {
		return err
	}
	if h.secured, err = tlsFor(h.cfg, h.log); err != nil {
		return err
	}
	var opt fleet.Options
	if h.forget, err = h.cfg.signIn(&opt); err != nil {
		return err
	}
	if h.parts, err = openParts(ctx, h.cfg.Store, h.log); err != nil {
		return err
	}
	if opt.Secrets, err = openKeyset(ctx, h.cfg.keyset(), h.parts.store, h.log); err != nil {
		return err
	}
	h.parts.fleet = h.parts.withOptions(opt)
	h.feeds = screen.New(screen.Options{Fleet: h.parts.fleet, Bus: h.parts.bus, Log: h.log})
	h.handler, err = web.New(web.Options{Fleet: h.parts.fleet, Feeds: h.feeds, Log: h.log, PublicURL: h.cfg.PublicURL,
		GitHubURL: h.cfg.GitHubURL, TLS: h.cfg.TLS(), TrustedProxies: proxies, Notice: h.cfg.Notice, Version: h.cfg.Version, Dev: h.cfg.Dev, Metrics: h.metrics})
	return err
}

// Run serves on ln until ctx ends or a part fails, and then closes the Hub. Being cancelled is no error.
func (h *Hub) Run(ctx context.Context, ln net.Listener) error {
	defer h.Close()
	if err := h.ready(ctx, ln.Addr()); err != nil {
		ln.Close()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	// The inner parts go on while requests finish, and end after them.
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	// The fleet writes its last lines of the audit log when it ends, and the head is kept after those.
	audit, stopAudit := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAudit()
	g.Go(func() error {
		defer stopAudit()
		return h.parts.fleet.Run(inner)
	})
	g.Go(func() error { return h.feeds.Run(inner) })
	g.Go(func() error { return newHeadKeeper(h.parts.fleet, h.cfg.Data, h.log).run(audit) })
	g.Go(func() error {
		defer stopInner()
		return web.Serve(ctx, ln, h.handler, h.secured.conf, h.log)
	})
	if h.cfg.MetricsListen != "" {
		g.Go(func() error { return h.serveMetrics(ctx) })
	}
	if h.cfg.httpAddress() != "" {
		g.Go(func() error { return h.servePlain(ctx, h.secured.plain(sendOn(h.URL(ln.Addr())))) })
	}
	for _, line := range unguarded {
		h.log.Error(line)
	}
	h.log.Info("the Hub serves", "url", h.URL(ln.Addr()), "version", h.cfg.Version, "keyset", h.cfg.keyset())
	err := g.Wait()
	if err != nil {
		h.log.Error("the Hub stopped", "err", err)
	} else {
		h.log.Info("the Hub stopped")
	}
	return err
}

// ready does what must be done before anyone is served.
func (h *Hub) ready(ctx context.Context, addr net.Addr) error {
	if err := h.parts.fleet.Recover(ctx); err != nil {
		return err
	}
	return h.running(addr).note(h.cfg.Data)
}

func (h *Hub) serveMetrics(ctx context.Context) error {
	ln, err := Listen(ctx, h.cfg.MetricsListen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h.metrics.Handler())
	return web.Serve(ctx, ln, mux, nil, h.log)
}

// servePlain answers plain HTTP, where ACME asks, and browsers that nobody told of https.
func (h *Hub) servePlain(ctx context.Context, handler http.Handler) error {
	ln, err := Listen(ctx, h.cfg.httpAddress())
	if err != nil {
		return claudehub.WithCause(claudehub.CodeOf(err), err, "%s It is the one for plain HTTP (--http-listen), which ACME does without at the word off.", claudehub.MessageOf(err))
	}
	return web.Serve(ctx, ln, handler, nil, h.log)
}

// Close ends the parts of a Hub that does not run. It may be called again.
func (h *Hub) Close() {
	if h.parts != nil {
		h.parts.Close()
		h.parts = nil
	}
	h.forget()
	if h.unlock != nil {
		h.unlock()
		h.unlock = nil
	}
}

// parts are what both a Hub and the commands beside it need.
type parts struct {
	store *store.Store
	bus   *bus.Bus
	fleet *fleet.Fleet
	log   *slog.Logger
}

// withOptions is a fleet on the same database and bus.
func (p *parts) withOptions(opt fleet.Options) *fleet.Fleet {
	return fleet.New(p.store, p.bus, p.log, opt)
}

// withSecrets is a fleet that can read and write Variables.
func (p *parts) withSecrets(box *secret.Box) *fleet.Fleet {
	return p.withOptions(fleet.Options{Secrets: box})
}

func openParts(ctx context.Context, cfg Store, log *slog.Logger) (*parts, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	p := &parts{log: log}
	var err error
	if p.store, err = store.Open(ctx, cfg.dsn()); err != nil {
		return nil, err
	}
	if p.bus, err = bus.Start(ctx, bus.Options{URL: cfg.NatsURL, Credentials: cfg.NatsCreds, Log: log}); err != nil {
		p.Close()
		return nil, err
	}
	p.fleet = fleet.New(p.store, p.bus, log, fleet.Options{})
	return p, nil
}

func (p *parts) Close() {
	if p.bus != nil {
		p.bus.Close()
	}
	p.store.Close()
}
