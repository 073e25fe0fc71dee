package hub

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/client"
	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// TestStreamsByTLS has both kinds of stream over a certificate of the Hub's own: events by HTTP/2, which has many requests
// on a connection, and a terminal by a WebSocket, which needs HTTP/1.1.
func TestStreamsByTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	made := writePair(t, cert, key, testName, time.Now().Add(240*time.Hour))
	s := startSecure(t, func(c *Config) { c.TLSCert, c.TLSKey = cert, key })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := s.hub.parts.fleet
	me, err := f.LocalPerson(ctx)
	if err != nil {
		t.Fatal(err)
	}
	runner, _, err := f.AddRunner(ctx, me.ID, "box")
	if err != nil {
		t.Fatal(err)
	}
	session, err := f.CreateSession(ctx, me.ID, fleet.NewSession{Runner: runner.ID, Source: claudehub.Source{}, Request: claudehub.NewNonce()})
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := f.CreateAPIToken(ctx, me.ID, "test", claudehub.Scopes, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	asked := &protocols{next: s.transport(trust(made))}
	c, err := client.New("https://"+testName, token.Reveal(), client.WithTransport(asked))
	if err != nil {
		t.Fatal(err)
	}
	seen := errors.New("seen")
	if err := c.Events(ctx, func(client.Event) error { return seen }); !errors.Is(err, seen) {
		t.Errorf("events: %v", err)
	}
	if asked.major != 2 {
		t.Errorf("events are by HTTP/%d", asked.major)
	}
	open, stop := context.WithCancel(ctx)
	defer stop()
	up := false
	err = c.Terminal(session.ID, client.TerminalOptions{Watch: true}, client.TerminalHandler{Changed: func(st client.TerminalStatus) {
		if st.State != nil {
			up = true
			stop()
		}
	}}).Run(open)
	if !up {
		t.Errorf("the terminal: %v", err)
	}
	if asked.major != 1 {
		t.Errorf("the terminal is by HTTP/%d", asked.major)
	}
}

// protocols notes which HTTP the last answer came by.
type protocols struct {
	next  http.RoundTripper
	major int
}

func (p *protocols) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err == nil {
		p.major = resp.ProtoMajor
	}
	return resp, err
}
