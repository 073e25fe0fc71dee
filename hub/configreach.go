package hub

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"claude-hub/internal/claudehub"
)

// Reach says how people on other machines reach the Hub: with a certificate of its own, or through a proxy that has one.
type Reach struct {
	TLSCert       string   `name:"tls-cert" group:"Reached from elsewhere" help:"Certificate file, the server's own first (PEM). Read again when it changes." type:"path" env:"CLAUDE_HUB_TLS_CERT" placeholder:"FILE"`
	TLSKey        string   `name:"tls-key" group:"Reached from elsewhere" help:"The certificate's private key (PEM)." type:"path" env:"CLAUDE_HUB_TLS_KEY" placeholder:"FILE"`
	ACME          []string `name:"acme" group:"Reached from elsewhere" help:"Get a certificate for these names by ACME, and renew it. You accept the terms of the authority, Let's Encrypt unless --acme-directory names another." env:"CLAUDE_HUB_ACME" placeholder:"HOST"`
	ACMEDirectory string   `name:"acme-directory" group:"Reached from elsewhere" help:"Another ACME authority." env:"CLAUDE_HUB_ACME_DIRECTORY" placeholder:"URL"`
	HTTPListen    string   `name:"http-listen" group:"Reached from elsewhere" help:"Address for plain HTTP: it answers ACME, and sends browsers on to https. With --acme it is :80, or off when this says off." env:"CLAUDE_HUB_HTTP_LISTEN" placeholder:"HOST:PORT"`
	BehindProxy   []string `name:"behind-proxy" group:"Reached from elsewhere" help:"Addresses of the proxies that have the certificate, as 10.0.0.0/8 or 127.0.0.1. What they say of a caller's address (X-Forwarded-For) is believed." env:"CLAUDE_HUB_BEHIND_PROXY" placeholder:"CIDR"`
}

const (
	maxNames  = 50
	httpPort  = ":80"
	httpOff   = "off"
	anyLength = 0 // of a network: all of the internet
)

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ownTLS tells whether this process has the certificate.
func (r Reach) ownTLS() bool { return r.TLSCert != "" || len(r.ACME) > 0 }

func (r Reach) check() error {
	switch {
	case r.TLSCert != "" && r.TLSKey == "":
		return claudehub.Errorf(claudehub.Invalid, "The certificate (--tls-cert) needs its private key (--tls-key).")
	case r.TLSCert == "" && r.TLSKey != "":
		return claudehub.Errorf(claudehub.Invalid, "The private key (--tls-key) needs its certificate (--tls-cert).")
	case r.TLSCert != "" && len(r.ACME) > 0:
		return claudehub.Errorf(claudehub.Invalid, "A certificate is given (--tls-cert), and one is to be got (--acme). Choose one of them.")
	case r.ACMEDirectory != "" && len(r.ACME) == 0:
		return claudehub.Errorf(claudehub.Invalid, "An ACME authority (--acme-directory) needs the names for the certificate (--acme).")
	case len(r.ACME) > 0 && len(r.BehindProxy) > 0:
		return claudehub.Errorf(claudehub.Invalid, "Behind a proxy (--behind-proxy) the proxy answers for the Hub's name, so that the Hub can get no certificate for it (--acme). "+
			"Leave one of them out, or give the Hub a certificate with --tls-cert.")
	case r.HTTPListen != "" && !r.ownTLS():
		return claudehub.Errorf(claudehub.Invalid, "An address for plain HTTP (--http-listen) needs a certificate that browsers are sent on to: --acme, or --tls-cert.")
	}
	if err := r.checkACME(); err != nil {
		return err
	}
	if h := r.httpAddress(); h != "" {
		if _, err := onLoopback(h); err != nil {
			return claudehub.Errorf(claudehub.Invalid, "%q is no address for plain HTTP (--http-listen): it looks like :80, or is the word off.", r.HTTPListen)
		}
	}
	_, err := r.proxies()
	return err
}

func (r Reach) checkACME() error {
	if len(r.ACME) > maxNames {
		return claudehub.Errorf(claudehub.Invalid, "A certificate has room for %d names (--acme).", maxNames)
	}
	for _, name := range r.names() {
		if len(name) > 253 || !hostName.MatchString(name) {
			return claudehub.Errorf(claudehub.Invalid, "%q is no name that ACME gives a certificate for (--acme): it looks like hub.example.org, without scheme, port and stars.", name)
		}
	}
	if r.ACMEDirectory == "" {
		return nil
	}
	if u, err := url.Parse(r.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return claudehub.Errorf(claudehub.Invalid, "The ACME directory (--acme-directory) is an address that begins with https://.")
	}
	return nil
}

// names are those of the certificate, as browsers ask for them.
func (r Reach) names() []string {
	out := make([]string, len(r.ACME))
	for i, n := range r.ACME {
		out[i] = strings.ToLower(strings.TrimSpace(n))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// httpAddress is where plain HTTP is answered; "" for nowhere.
func (r Reach) httpAddress() string {
	switch {
	case r.HTTPListen == httpOff:
		return ""
	case r.HTTPListen == "" && len(r.ACME) > 0:
		return httpPort
	}
	return r.HTTPListen
}

// proxies are the networks whose word on a caller's address is believed.
func (r Reach) proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range r.BehindProxy {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if ip, e := netip.ParseAddr(text); e == nil && ip.Zone() == "" {
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96) // one form for one address
		}
		switch {
		case err != nil:
			return nil, claudehub.Errorf(claudehub.Invalid, "%q is no address of a proxy (--behind-proxy): it looks like 127.0.0.1 or 10.0.0.0/8.", text)
		case p.Bits() == anyLength:
			return nil, claudehub.Errorf(claudehub.Invalid, "%s (--behind-proxy) is the whole internet: anybody could claim any address. Name the proxy's own.", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}
