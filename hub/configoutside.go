package hub

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"claude-hub/internal/claudehub"
)

// checkSignIn sees that GitHub can send people back, and that nobody reads their cookies on the way.
func (c Config) checkSignIn() error {
	if c.Local() {
		if len(c.ACME) > 0 {
			return claudehub.Errorf(claudehub.Invalid, "A certificate for people elsewhere (--acme) needs a sign-in for people elsewhere: set up GitHub, beginning with --github-client-id.")
		}
		return nil
	}
	listen, _ := onLoopback(c.Listen)
	_, port, _ := net.SplitHostPort(c.Listen)
	u, err := url.Parse(c.PublicURL)
	switch {
	case c.PublicURL == "" && listen && port != "0" && !c.ownTLS():
		return nil
	case c.PublicURL == "" || err != nil:
		return claudehub.Errorf(claudehub.Invalid, "Sign-in by GitHub needs the public URL (--public-url): GitHub sends people back to it, and has it on record.")
	case u.Scheme == "https":
		return nil
	}
	if home, err := onLoopback(net.JoinHostPort(u.Hostname(), "80")); err != nil || !home || !listen {
		return claudehub.Errorf(claudehub.Invalid, "With sign-in by GitHub the public URL (--public-url) has to begin with https://, unless both it and --listen are on loopback: "+
			"who is on the way could take over what people are signed in to.")
	}
	return nil
}

// checkNames sees that what browsers are told to open is what is served.
func (c Config) checkNames() error {
	u, _ := url.Parse(c.PublicURL) // it was looked at before
	switch {
	case c.PublicURL == "":
		return nil
	case c.ownTLS() && u.Scheme == "http":
		return claudehub.Errorf(claudehub.Invalid, "The Hub has a certificate, so the public URL (--public-url) begins with https://.")
	case len(c.ACME) > 0 && !slices.Contains(c.names(), strings.ToLower(u.Hostname())):
		return claudehub.Errorf(claudehub.Invalid, "The public URL (--public-url) is at %s, and the certificate is for %s (--acme).", u.Hostname(), strings.Join(c.names(), ", "))
	case !c.Local() && u.Scheme == "https" && !c.ownTLS() && len(c.BehindProxy) == 0:
		return claudehub.Errorf(claudehub.Invalid, "The public URL (--public-url) is https, and this Hub has no certificate. If a proxy has it, name the proxy's address with --behind-proxy, "+
			"or everybody would seem to come from there; otherwise use --acme or --tls-cert.")
	}
	return nil
}

// checkOutside keeps a Hub on this machine that is not fit for others.
func (c Config) checkOutside() error {
	loopback, _ := onLoopback(c.Listen)
	switch {
	case loopback:
		return nil
	case c.Local():
		return claudehub.Errorf(claudehub.Invalid, "The Hub does not listen on %s. People sign in by links that this machine prints (local mode), "+
			"and that is only safe where this machine alone can reach the Hub: listen on 127.0.0.1 or [::1], and forward the port over SSH to reach it from elsewhere; "+
			"or let people sign in with GitHub (--github-client-id).", c.Listen)
	case !c.ownTLS() && len(c.BehindProxy) == 0:
		return claudehub.Errorf(claudehub.Invalid, "The Hub does not listen on %s without TLS. Get a certificate by --acme, give one with --tls-cert, or name the proxy that has one with --behind-proxy.", c.Listen)
	}
	return nil
}

// TLS tells whether browsers reach the Hub by https.
func (c Config) TLS() bool { return c.ownTLS() || strings.HasPrefix(c.PublicURL, "https://") }

// urlAt is how browsers reach a Hub that listens on an address.
func (c Config) urlAt(address string) string {
	switch {
	case c.PublicURL != "":
		return strings.TrimRight(c.PublicURL, "/")
	case c.ownTLS():
		return "https://" + address
	}
	return "http://" + address
}

// redirect is where GitHub sends people back to. The address of a Hub without a public URL is known before it listens,
// since GitHub has it on record.
func (c Config) redirect() string {
	if c.Local() {
		return ""
	}
	return c.urlAt(c.Listen) + "/api/auth/github/callback"
}
