package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
)

const (
	callTime    = time.Minute
	answerLimit = 64 << 20 // a list of all prompts with their texts
	maxRetries  = 3
)

// Client calls one Hub as one principal.
type Client struct {
	base   *url.URL
	token  string
	http   *http.Client
	plain  bool
	timing timing
}

// Option changes how a Client reaches its Hub.
type Option func(*Client)

// WithTransport gives another way to the Hub, or another credential: rt may add what proves who asks. It is used for the
// WebSocket too, so it must hand on upgraded connections as *http.Transport does.
func WithTransport(rt http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = rt }
}

// WithPlainHTTP allows http:// to a Hub that is not on this machine. Whoever is on the way can then read the token.
func WithPlainHTTP() Option { return func(c *Client) { c.plain = true } }

// New makes a Client of the Hub at baseURL. The token may be empty when the transport proves who asks.
func New(baseURL, token string, options ...Option) (*Client, error) {
	c := &Client{token: token, timing: defaultTiming}
	c.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, o := range options {
		o(c)
	}
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, claudehub.Errorf(claudehub.Invalid, "%q is not the address of a Hub. It looks like https://hub.example.org.", baseURL)
	}
	if u.Scheme == "http" && !c.plain && !onThisMachine(u.Hostname()) {
		return nil, claudehub.Errorf(claudehub.Invalid,
			"%s is not on this machine and not https: the token could be read on the way. Use the Hub's https address.", baseURL)
	}
	c.base = u
	return c, nil
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is the Hub's address.
func (c *Client) URL() string { return c.base.String() }

// Close lets go of connections that wait for another call. A transport that the caller gave is the caller's to close.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var in io.Reader = http.NoBody
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, in)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "That request cannot be made.")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req.Header)
	return req, nil
}

func (c *Client) authorize(h http.Header) {
	h.Set("User-Agent", "claude-hub-client")
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
}

// call asks once, and again where the Hub names a time and asking twice does no harm.
func (c *Client) call(ctx context.Context, method, path string, again bool, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return claudehub.WithCause(claudehub.Invalid, err, "That request cannot be written as JSON.")
		}
	}
	for try := 0; ; try++ {
		err := c.once(ctx, method, path, body, out)
		wait := RetryAfter(err)
		end, _ := ctx.Deadline()
		if err == nil || !again || wait == 0 || try == maxRetries || time.Until(end) < wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (c *Client) once(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return c.problem(resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit+1))
	switch {
	case err != nil:
		return c.unreachable(err)
	case len(b) > answerLimit:
		return claudehub.Errorf(claudehub.TooLarge, "The Hub's answer is larger than %d MB.", answerLimit>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return claudehub.WithCause(claudehub.Internal, err, "%s answers with something that is not its API. Is that the address of a Hub?", c.URL())
	}
	return nil
}

// unreachable is for a Hub that gave no answer. A caller who gave up hears that, and not that the Hub is away.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // it would repeat the address
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s took too long to answer.", c.URL())
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s cannot be reached.", c.URL())
}
