//go:build linux

package runner

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestSandboxIsToldOfTheGateway: one that listens on this machine's loopback is the relay of every Sandbox.
func TestSandboxIsToldOfTheGateway(t *testing.T) {
	c := newComputer(t)
	gateway := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gateway.Close)
	c.cfg.AnthropicURL = gateway.URL
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if url, err := c.backend.RelayURL(t.Context(), sandbox.ID(id)); err != nil || url != gateway.URL {
		t.Errorf("its relay is %q, %v; the gateway is %s", url, err, gateway.URL)
	}
}
