package runner

import (
	"context"
	"strings"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func TestGatewayPort(t *testing.T) {
	for address, want := range map[string]uint16{
		"http://127.0.0.1:4321": 4321, "http://localhost:4321/path": 4321, "http://127.0.0.1": 80, "http://127.0.0.2:99": 99,
		"https://127.0.0.1:4321": 0, "http://[::1]:4321": 0, "https://gateway.example.org": 0, "http://10.0.0.1:80": 0, "": 0,
		"http://127.0.0.1:0": 0,
	} {
		if got := gatewayPort(address); got != want {
			t.Errorf("%s: %d", address, got)
		}
	}
}

// relayed is a Backend that is asked for the way to its relay alone.
type relayed struct {
	sandbox.Backend
	url string
	err error
}

func (r relayed) RelayURL(context.Context, sandbox.ID) (string, error) { return r.url, r.err }

// TestClaudeFindsTheGateway: it is given the address that is right where it runs.
func TestClaudeFindsTheGateway(t *testing.T) {
	const vm = "http://host.microsandbox.internal:4321"
	for name, c := range map[string]struct {
		address string
		backend relayed
		want    string
		code    claudehub.Code
	}{
		"none":            {"", relayed{}, "", ""},
		"elsewhere":       {"https://gateway.example.org/x", relayed{}, "https://gateway.example.org/x", ""},
		"shared loopback": {"http://127.0.0.1:4321/x", relayed{url: "http://127.0.0.1:4321"}, "http://127.0.0.1:4321/x", ""},
		// The Runner was started again with another gateway; the Sandbox goes on.
		"shared loopback, moved": {"http://127.0.0.1:5555/x", relayed{url: "http://127.0.0.1:4321"}, "http://127.0.0.1:5555/x", ""},
		"microVM":                {"http://localhost:4321/x", relayed{url: vm}, vm + "/x", ""},
		"microVM, moved":         {"http://localhost:5555/x", relayed{url: vm}, "", claudehub.Unavailable},
		"started without one":    {"http://127.0.0.1:4321", relayed{err: claudehub.Errorf(claudehub.NotFound, "None.")}, "http://127.0.0.1:4321", ""},
		"cannot be told":         {"http://127.0.0.1:4321", relayed{err: claudehub.Errorf(claudehub.Unavailable, "No answer.")}, "", claudehub.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSession(t, wire.DesiredSession{})
			s.on.cfg.AnthropicURL, s.on.cfg.Backend = c.address, c.backend
			got, err := s.baseURL(t.Context())
			if got != c.want || claudehub.CodeOf(err) != c.code {
				t.Errorf("got %q, %v", got, err)
			}
			if c.code == claudehub.Unavailable && strings.HasSuffix(name, "moved") && !strings.Contains(failureOf(err, nil).Fix, "wake") {
				t.Errorf("it does not say what to do: %+v", failureOf(err, nil))
			}
		})
	}
}
