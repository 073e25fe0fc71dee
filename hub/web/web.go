package web

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync"

	"claude-hub/hub/fleet"
	"claude-hub/hub/screen"
	"claude-hub/internal/claudehub"
)

// Options are what New needs. Fleet and Feeds must be set.
type Options struct {
	Fleet *fleet.Fleet
	Feeds *screen.Feeds
	Log   *slog.Logger
	// PublicURL is where browsers reach the Hub; a WebSocket from elsewhere is refused. Empty: whatever host was asked.
	PublicURL string
	// GitHubURL is where people sign in, unless the Fleet is in local mode; pages name it. Empty: the public GitHub.
	GitHubURL string
	// TLS says that browsers reach the Hub by https: cookies are then for https alone, and browsers are told so.
	TLS bool
	// Notice is shown on every page when it is not empty: that answers come from a stand-in, say.
	Notice  string
	Version string
	// Dev is the address of a Vite server that serves the pages, for work on the front end. It turns the
	// Content-Security-Policy off, which Vite does not meet.
	Dev string
	// TrustedProxies are those whose X-Forwarded-For is believed. Without any, where a request comes from is who connected.
	TrustedProxies []netip.Prefix
	// Limits are how much one address or person may ask.
	Limits Limits
	// Metrics counts what happens here; nil counts for nobody.
	Metrics *Metrics
}

type server struct {
	opt     Options
	fleet   *fleet.Fleet
	feeds   *screen.Feeds
	log     *slog.Logger
	metrics *Metrics
	limits  *limits
	origin  string // of PublicURL; "" for any
	pages   http.Handler

	mu    sync.Mutex
	links map[claudehub.RunnerID]*link
}

// New builds the handler of all routes.
func New(opt Options) (http.Handler, error) {
	s, err := newServer(opt)
	if err != nil {
		return nil, err
	}
	return s.handler()
}

func newServer(opt Options) (*server, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.GitHubURL == "" {
		opt.GitHubURL = "https://github.com"
	}
	if opt.Metrics == nil {
		opt.Metrics = NewMetrics()
	}
	s := &server{
		opt: opt, fleet: opt.Fleet, feeds: opt.Feeds, log: opt.Log, metrics: opt.Metrics, limits: newLimits(opt.Limits),
		links: map[claudehub.RunnerID]*link{},
	}
	if opt.PublicURL != "" {
		u, err := url.Parse(opt.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, claudehub.Errorf(claudehub.Invalid, "The public URL %q is not one: it looks like https://hub.example.org.", opt.PublicURL)
		}
		s.origin = u.Scheme + "://" + u.Host
	}
	pages, err := newPages(opt.TLS)
	if err != nil {
		return nil, err
	}
	s.pages = pages
	if opt.Dev != "" {
		u, err := url.Parse(opt.Dev)
		if err != nil || u.Host == "" {
			return nil, claudehub.Errorf(claudehub.Invalid, "The address of the development server %q is not a URL.", opt.Dev)
		}
		s.pages = httputil.NewSingleHostReverseProxy(u)
	}
	opt.Metrics.watch(s)
	return s, nil
}

// handler puts the table behind what every request passes.
func (s *server) handler() (http.Handler, error) {
	t := newTable(s.opt.Version)
	s.register(t)
	doc, err := t.document()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, rt := range t.routes {
		mux.Handle(rt.pattern(), s.guard(rt))
	}
	mux.Handle("GET /openapi.json", s.guard(openAPIRoute(doc)))
	mux.Handle("/", s.guard(s.rest()))
	return s.outer(mux), nil
}
