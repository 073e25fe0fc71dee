package hub

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"claude-hub/internal/claudehub"
)

const maxNotice = 300 // characters

// Config is all that can be set, by flag, by environment or in a file; each in this order before the next. The names in
// the file are the flags' names.
type Config struct {
	Store
	GitHub
	Reach

	Listen        string `help:"Address for browsers and Runners. Beyond loopback only with sign-in by GitHub, and with TLS." default:"127.0.0.1:8080" env:"CLAUDE_HUB_LISTEN" placeholder:"HOST:PORT"`
	PublicURL     string `help:"Where browsers reach the Hub, if that is not the listen address: https://hub.example.org. GitHub sends people back there." env:"CLAUDE_HUB_PUBLIC_URL" placeholder:"URL"`
	Notice        string `help:"A line that every page shows." env:"CLAUDE_HUB_NOTICE"`
	MetricsListen string `help:"Address for Prometheus, on loopback. Off when empty." env:"CLAUDE_HUB_METRICS_LISTEN" placeholder:"HOST:PORT"`
	LogLevel      string `help:"debug, info, warn or error." default:"info" env:"CLAUDE_HUB_LOG_LEVEL"`
	Dev           string `help:"Address of a Vite server that serves the pages, for work on the front end." env:"CLAUDE_HUB_DEV" placeholder:"URL" hidden:""`

	// Version is what the program calls itself.
	Version string `kong:"-"`
}

// Store says where a Hub keeps things, and how Hubs that share them hear of each other.
type Store struct {
	Data     string `help:"Directory for what the Hub keeps." default:"${data}" type:"path" env:"CLAUDE_HUB_DATA" placeholder:"DIR"`
	Database string `help:"sqlite:PATH or postgres://…; SQLite in the data directory when empty. Put a password in the environment or the file, not here." env:"CLAUDE_HUB_DATABASE" placeholder:"URL"`
	Keyset   string `help:"The file with the keys that Variables are encrypted with; keyset.json in the data directory when empty. Hubs that share a database share it." type:"path" env:"CLAUDE_HUB_KEYSET" placeholder:"FILE"`
	NatsURL  string `help:"A NATS server that several Hubs share; inside this process when empty." env:"CLAUDE_HUB_NATS_URL" placeholder:"URL"`
	// NatsCreds is a path, since a credential has no place in a command line.
	NatsCreds string `help:"A NATS credentials file." type:"path" env:"CLAUDE_HUB_NATS_CREDS" placeholder:"FILE"`
}

func (s Store) dsn() string {
	if s.Database == "" {
		return "sqlite:" + filepath.Join(s.Data, "hub.db")
	}
	return s.Database
}

func (s Store) keyset() string {
	if s.Keyset == "" {
		return filepath.Join(s.Data, "keyset.json")
	}
	return s.Keyset
}

// Check refuses a value that cannot be meant, with a sentence on each.
func (s Store) Check() error {
	if s.Data == "" {
		return claudehub.Errorf(claudehub.Invalid, "The Hub needs a data directory (--data).")
	}
	scheme, rest, _ := strings.Cut(s.Database, ":")
	if s.Database != "" && (rest == "" || !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme)) {
		return claudehub.Errorf(claudehub.Invalid, "The database (--database) has to be sqlite:PATH or postgres://user@host/name.")
	}
	if s.NatsURL != "" {
		u, err := url.Parse(s.NatsURL)
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return claudehub.Errorf(claudehub.Invalid, "The NATS URL (--nats-url) is not one: it looks like nats://host:4222 or tls://host:4222.")
		}
	} else if s.NatsCreds != "" {
		return claudehub.Errorf(claudehub.Invalid, "A NATS credentials file (--nats-creds) needs a NATS URL (--nats-url).")
	}
	return nil
}

// Check refuses a value that cannot be meant, with a sentence on each.
func (c Config) Check() error {
	if err := c.Store.Check(); err != nil {
		return err
	}
	if _, err := c.Level(); err != nil {
		return err
	}
	checks := []func() error{
		c.checkListen, c.checkMetrics, c.checkPublicURL, c.checkNotice, c.GitHub.check, c.Reach.check,
		c.checkSignIn, c.checkNames, c.checkOutside,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkListen() error {
	if _, err := onLoopback(c.Listen); err != nil {
		return claudehub.Errorf(claudehub.Invalid, "%q is no address to listen on (--listen): it looks like 127.0.0.1:8080.", c.Listen)
	}
	return nil
}

func (c Config) checkMetrics() error {
	if c.MetricsListen == "" {
		return nil
	}
	loopback, err := onLoopback(c.MetricsListen)
	switch {
	case err != nil:
		return claudehub.Errorf(claudehub.Invalid, "%q is no address for metrics (--metrics-listen): it looks like 127.0.0.1:9090.", c.MetricsListen)
	case !loopback:
		return claudehub.Errorf(claudehub.Invalid, "Metrics (--metrics-listen) ask nobody who they are, so they are only for loopback, and not on %s.", c.MetricsListen)
	}
	return nil
}

// onLoopback does not ask the resolver: what localhost is, is agreed.
func onLoopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, err
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil
}

func (c Config) checkPublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return claudehub.Errorf(claudehub.Invalid, "The public URL (--public-url) is scheme and host alone: https://hub.example.org.")
	}
	return nil
}

func (c Config) checkNotice() error {
	unprintable := strings.ContainsFunc(c.Notice, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
	if utf8.RuneCountInString(c.Notice) > maxNotice || unprintable {
		return claudehub.Errorf(claudehub.Invalid, "The notice (--notice) is one line of at most %d characters.", maxNotice)
	}
	return nil
}

// Level is the log level.
func (c Config) Level() (slog.Level, error) {
	var l slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) || l.UnmarshalText([]byte(c.LogLevel)) != nil {
		return 0, claudehub.Errorf(claudehub.Invalid, "%q is no log level (--log-level). Choose one of debug, info, warn, error.", c.LogLevel)
	}
	return l, nil
}
