package hub

import (
	"context"
	"net"
	"strings"

	"claude-hub/hub/fleet"
	"claude-hub/hub/fleet/policy"
	"claude-hub/internal/claudehub"
)

// signIn gives a fleet what it needs for sign-in by GitHub; nothing in local mode. forget lets go of connections.
func (c Config) signIn(opt *fleet.Options) (forget func(), err error) {
	client, allow, err := c.client()
	if client == nil || err != nil {
		return func() {}, err
	}
	opt.GitHub, opt.Allow, opt.Redirect, opt.Recheck = client, allow, c.redirect(), c.Recheck
	return client.Close, nil
}

// URL is how browsers reach the Hub that listens on an address.
func (h *Hub) URL(addr net.Addr) string { return h.cfg.urlAt(addr.String()) }

// running is what the commands beside this Hub have to know.
func (h *Hub) running(addr net.Addr) Running {
	r := Running{URL: h.URL(addr), Mode: modeGitHub, Listener: "http://" + near(addr)}
	if h.cfg.Local() {
		r.Mode = modeLocal
	}
	if h.cfg.ownTLS() {
		r.Listener = "https://" + near(addr)
	}
	return r
}

// near is the address as this machine reaches it, also when it stands for all.
func near(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	home := net.IPv4(127, 0, 0, 1)
	if tcp.IP.To4() == nil {
		home = net.IPv6loopback
	}
	return (&net.TCPAddr{IP: home, Port: tcp.Port}).String()
}

// Welcome is what a start tells who can see this machine's output, line by line: how to sign in, and while nobody is
// admin, how to become it. It holds a credential, and has no place in a log. Whoever sees it can have another made beside
// the Hub.
func (h *Hub) Welcome(ctx context.Context, addr net.Addr) ([]string, error) {
	r := h.running(addr)
	if err := r.note(h.cfg.Data); err != nil {
		return nil, err
	}
	if h.cfg.Local() {
		t, err := h.parts.fleet.SignInLink(ctx)
		if err != nil {
			return nil, err
		}
		return append([]string{"Sign in: " + signInLink(r.URL, t)}, unguarded...), nil
	}
	lines := append([]string{"Sign in: " + r.URL}, unguarded...)
	code, made, err := h.parts.fleet.NewSetupCode(ctx)
	if made {
		lines = append(lines, setupAt(r.URL, code).Line())
	}
	return lines, err
}

// unguarded is what a test build says, which lets Participants drive.
var unguarded = func() []string {
	if policy.Guarded {
		return nil
	}
	return []string{"THIS IS A TEST BUILD: it does not refuse people who type into Sessions of others. Never run it for anybody."}
}()

// signInLink has the token behind the #, which no browser sends, so that it is in no server's log.
func signInLink(url string, t claudehub.Token) string {
	return strings.TrimRight(url, "/") + "/sign-in#" + t.Reveal()
}

// Setup is a code that makes its holder the first admin, and the page where it is entered.
type Setup struct {
	Code claudehub.Token
	URL  string
}

func setupAt(url string, code claudehub.Token) Setup {
	return Setup{code, strings.TrimRight(url, "/") + "/setup"}
}

// Line tells a person what to do with it. It holds the code.
func (s Setup) Line() string {
	return "Set-up code: " + s.Code.Reveal() + " (sign in, and enter it at " + s.URL + "; who does so first is admin)"
}
