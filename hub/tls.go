package hub

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"claude-hub/internal/claudehub"
)

// secured is how connections are secured.
type secured struct {
	conf *tls.Config // nil for a Hub without a certificate
	// plain answers what ACME asks by plain HTTP, and leaves the rest to the handler.
	plain func(http.Handler) http.Handler
}

func tlsFor(cfg Config, log *slog.Logger) (secured, error) {
	s := secured{plain: func(h http.Handler) http.Handler { return h }}
	switch {
	case len(cfg.ACME) > 0:
		m, err := acmeFor(cfg)
		if err != nil {
			return s, err
		}
		names := cfg.names()
		s.conf = m.TLSConfig()
		s.plain = func(h http.Handler) http.Handler { return withoutPort(m.HTTPHandler(h)) }
		get := s.conf.GetCertificate
		s.conf.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := get(hello)
			if err != nil && slices.Contains(names, hello.ServerName) { // a stranger's name is no trouble of ours
				log.Error("there is no certificate", "name", hello.ServerName, "err", err)
			}
			return cert, err
		}
	case cfg.TLSCert != "":
		name := ""
		if u, err := url.Parse(cfg.PublicURL); err == nil && len(cfg.BehindProxy) == 0 {
			name = u.Hostname()
		}
		c, err := openCertificate(cfg.TLSCert, cfg.TLSKey, name, log)
		if err != nil {
			return s, err
		}
		s.conf = &tls.Config{GetCertificate: c.get}
	default:
		return s, nil
	}
	s.conf.MinVersion = tls.VersionTLS12
	return s, nil
}

// withoutPort: autocert compares the host that was asked for with the names of the certificate, and an authority that asks
// at another port than 80 names that port.
func withoutPort(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			r.Host = host // the request is nobody else's
		}
		next.ServeHTTP(w, r)
	})
}

// acmeFor gets certificates when they are first asked for, and renews them a month before they end. Account, keys and
// certificates are kept in the data directory.
func acmeFor(cfg Config) (*autocert.Manager, error) {
	dir := filepath.Join(cfg.Data, "acme")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, badData(dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, badData(dir, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, claudehub.Errorf(claudehub.Invalid, "Others can look into %s, which holds the private keys of certificates (its mode is %04o). Run chmod 700 on it.", dir, mode)
	}
	m := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(dir),
		HostPolicy: autocert.HostWhitelist(cfg.names()...), // no stranger makes us ask for a name
	}
	if cfg.ACMEDirectory != "" {
		m.Client = &acme.Client{DirectoryURL: cfg.ACMEDirectory}
	}
	return m, nil
}

// sendOn sends browsers to the same page by https. What is no question for a page may carry a credential, which was
// readable on its way here: that is refused, so that it is noticed.
func sendOn(base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "This Hub is reached by https alone.\n") // who asked may be gone
			return
		}
		path := r.URL.RequestURI()
		if !strings.HasPrefix(path, "/") {
			path = "/" // anything else could go on with the host's name
		}
		// The host is ours whatever was asked for, so nobody is sent elsewhere.
		http.Redirect(w, r, base+path, http.StatusMovedPermanently)
	})
}
