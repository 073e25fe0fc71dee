package runner

import (
	"context"
	"net"
	"net/url"
	"strconv"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// A gateway to Anthropic that listens on this machine's own loopback is not where a microVM finds it: the address there is
// the VM's own. The Sandbox is told which port it may reach, and says itself how that is called inside.

// gatewayPort is the port of a gateway on this machine's 127.0.0.1; 0 for one elsewhere, which a Sandbox reaches as any
// other address. One with TLS is left alone as well: its certificate is for the name that it has here.
func gatewayPort(address string) uint16 {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) || net.ParseIP(u.Hostname()) != nil && net.ParseIP(u.Hostname()).To4() == nil {
		return 0
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// relay is what a Sandbox of this Runner is told of its gateway.
func (c Config) relay() sandbox.Relay { return sandbox.Relay{Port: gatewayPort(c.AnthropicURL)} }

// baseURL is the gateway's address as Claude in the Session's Sandbox reaches it.
func (s *session) baseURL(ctx context.Context) (string, error) {
	address := s.on.cfg.AnthropicURL
	port := gatewayPort(address)
	if port == 0 {
		return address, nil
	}
	inside, err := s.on.cfg.Backend.RelayURL(ctx, s.box())
	switch {
	case claudehub.CodeOf(err) == claudehub.NotFound:
		// It was started before it had a gateway. Where Sandboxes share this machine's loopback that makes no difference.
		s.log.Warn("the Sandbox was started without a way to the gateway; sleep and wake mends it if Claude cannot reach it")
		return address, nil
	case err != nil:
		return "", err
	}
	there, err := url.Parse(inside)
	if err != nil {
		return "", claudehub.WithCause(claudehub.Internal, err, "The Sandbox names an address for the gateway that is none.")
	}
	if loopback(there.Hostname()) {
		return address, nil // this machine's own, whatever port the gateway has by now
	}
	if there.Port() != strconv.Itoa(int(port)) {
		return "", &stepError{
			step: stepTerminal, retry: true, fix: "Put the Session to sleep and wake it: its Sandbox then learns where the gateway is now.",
			err: claudehub.Errorf(claudehub.Unavailable, "The gateway to Anthropic has moved to another port since this Session's Sandbox was started, and cannot be reached from it."),
		}
	}
	out, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	out.Host = there.Host
	return out.String(), nil
}
