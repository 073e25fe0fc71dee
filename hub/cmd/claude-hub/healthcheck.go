package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

type healthcheckCmd struct {
	asJSON
	Data    string        `help:"The Hub's data directory, which says where it listens." default:"${data}" type:"path" env:"CLAUDE_HUB_DATA" placeholder:"DIR"`
	Listen  string        `help:"The Hub's address, when it is not to be looked up." env:"CLAUDE_HUB_LISTEN" placeholder:"HOST:PORT"`
	Timeout time.Duration `help:"How long to wait." default:"5s"`
}

// Run asks the Hub whether it is well, at its own socket: what stands before it may be away, and its name unknown here.
func (c *healthcheckCmd) Run(ctx context.Context, out output) error {
	at, known := hub.LastRunning(c.Data)
	url := at.Listener
	if c.Listen != "" {
		scheme, _, ok := strings.Cut(at.Listener, "://")
		if !ok {
			scheme = "http"
		}
		url = scheme + "://" + c.Listen
	} else if !known {
		return claudehub.Errorf(claudehub.Invalid, "It is not known where the Hub with the data directory %s is reached. Say it with --listen.", c.Data)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := ask(ctx, strings.TrimRight(url, "/"), at.URL); err != nil {
		return err
	}
	return c.print(out, map[string]any{"ok": true, "url": url}, func() {})
}

// ask sends no secret, and asks whether somebody is there: that the certificate is for another name than the socket's
// address, or from an authority that this machine does not know, is no answer to that.
func ask(ctx context.Context, url, public string) error {
	conf := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if _, host, ok := strings.Cut(public, "://"); ok {
		conf.ServerName, _, _ = strings.Cut(host, ":")
	}
	transport := &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return claudehub.WithCause(claudehub.Invalid, err, "%q is no address.", url)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s does not answer.", url)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return claudehub.Errorf(claudehub.Unavailable, "The Hub at %s says that it is not well: %s.", url, resp.Status)
	}
	return nil
}
