package runner

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Hub is the Runner's client for the Hub's /runner routes. It is safe for concurrent use.
type Hub struct {
	base     *url.URL
	tokens   *tokens
	pairing  *PairingStore // nil for a token that is kept nowhere
	stamp    string        // of the Pairing, as it was opened
	instance string
	client   *http.Client
	// streaming has no overall time limit; its connections end after wire.StreamDead of silence.
	streaming *http.Client
}

// requestTime bounds each request but the stream.
const requestTime = 20 * time.Second

// OpenHub makes a client for the Hub that this machine is paired with. Its token is rotated while a Runner runs on it.
func OpenHub(ctx context.Context, store *PairingStore) (*Hub, error) {
	var hub *Hub
	err := store.locked(ctx, func() error {
		p, err := store.Read()
		if err != nil {
			return err
		}
		good, next, err := store.tokens(ctx)
		if err != nil {
			return err
		}
		if hub, err = NewHub(p.Hub, good); err == nil {
			hub.pairing, hub.stamp, hub.tokens = store, store.stamp(), newTokens(good, next)
		}
		return err
	})
	return hub, err
}

// NewHub makes a client for the Hub at base ("https://hub.example.org"), for one Runner process with one token.
func NewHub(base string, token claudehub.Token) (*Hub, error) {
	u, err := hubURL(base)
	if err != nil {
		return nil, err
	}
	return &Hub{
		base: u, tokens: newTokens(token, claudehub.Token{}), instance: claudehub.NewNonce(),
		client:    &http.Client{Transport: transport(0), Timeout: requestTime, CheckRedirect: noRedirect},
		streaming: &http.Client{Transport: transport(wire.StreamDead), CheckRedirect: noRedirect},
	}, nil
}

// hubURL refuses what is no Hub's address, and one where a credential would travel in clear.
func hubURL(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, claudehub.Errorf(claudehub.Invalid, "That is not the address of a Hub. It looks like https://hub.example.org.")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, claudehub.Errorf(claudehub.Invalid, "The Hub at %s is reached without TLS: the Runner's token would travel in clear. Use https.", u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// noRedirect keeps the token at the Hub: a redirect could name another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// transport makes connections that end after a silence, where one is given: net/http has no read timeout for a body.
func transport(silence time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: requestTime,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		// HTTP/2 would put every Session's screen on one connection, behind one lost packet.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil || silence == 0 {
			return c, err
		}
		return &impatient{c, silence}, nil
	}
	return t
}

// impatient is a connection whose reads fail after a silence.
type impatient struct {
	net.Conn
	silence time.Duration
}

func (c *impatient) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (h *Hub) url(path string) string { return strings.TrimSuffix(h.base.String(), "/") + path }

func (h *Hub) sign(header http.Header, token claudehub.Token) {
	header.Set("Authorization", "Bearer "+token.Reveal())
	header.Set(wire.ProtocolHeader, strconv.Itoa(wire.Protocol))
	header.Set(wire.InstanceHeader, h.instance)
}

// Status reports observed states.
func (h *Hub) Status(ctx context.Context, s wire.Status) (wire.StatusReply, error) {
	var reply wire.StatusReply
	err := h.postJSON(ctx, wire.StatusPath, s, &reply)
	return reply, err
}

// Events sends a batch from the outbox.
func (h *Hub) Events(ctx context.Context, e wire.Events) (wire.EventsReply, error) {
	var reply wire.EventsReply
	err := h.postJSON(ctx, wire.EventsPath, e, &reply)
	return reply, err
}

// Screen uploads encoded frames of a Session; when it returns nil, the Hub has passed them on.
func (h *Hub) Screen(ctx context.Context, id claudehub.SessionID, frames []byte) error {
	path := strings.Replace(wire.ScreenPath, "{id}", string(id), 1)
	return h.post(ctx, path, "application/octet-stream", frames, nil)
}

// Variables are those of a Session that starts. They are secrets: keep them in memory alone.
func (h *Hub) Variables(ctx context.Context, id claudehub.SessionID) (wire.Variables, error) {
	var v wire.Variables
	err := h.getJSON(ctx, strings.Replace(wire.VariablesPath, "{id}", string(id), 1), &v)
	return v, err
}

// BuildVariables are those of a build that begins.
func (h *Hub) BuildVariables(ctx context.Context, id claudehub.BuildID) (wire.Variables, error) {
	var v wire.Variables
	err := h.getJSON(ctx, strings.Replace(wire.BuildVariablesPath, "{id}", string(id), 1), &v)
	return v, err
}

// BuildLog uploads a part of a build's log and returns how much of it the Hub has.
func (h *Hub) BuildLog(ctx context.Context, id claudehub.BuildID, offset int64, part []byte) (int64, error) {
	path := strings.Replace(wire.BuildLogPath, "{id}", string(id), 1) + "?offset=" + strconv.FormatInt(offset, 10)
	var reply wire.LogReply
	err := h.post(ctx, path, "application/octet-stream", part, &reply)
	return reply.Offset, err
}

// nextToken asks for this Runner's next token. The Hub takes both until it is first used.
func (h *Hub) nextToken(ctx context.Context) (claudehub.Token, error) {
	var reply wire.NewToken
	if err := h.post(ctx, wire.TokenPath, "", nil, &reply); err != nil {
		return claudehub.Token{}, err
	}
	token, err := claudehub.ParseToken(claudehub.RunnerToken, reply.Token)
	if err != nil {
		return token, claudehub.Errorf(claudehub.Invalid, "The Hub's next token for this Runner is none.")
	}
	return token, nil
}

func (h *Hub) getJSON(ctx context.Context, path string, out any) error {
	return h.do(ctx, http.MethodGet, path, "", nil, out)
}

func (h *Hub) postJSON(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return h.post(ctx, path, "application/json", body, out)
}

func (h *Hub) post(ctx context.Context, path, contentType string, body []byte, out any) error {
	return h.do(ctx, http.MethodPost, path, contentType, body, out)
}

// maxTokens is how many tokens one request may be tried with: the next one, the old one, and one that came meanwhile.
const maxTokens = 3

// do asks once, unless the token has changed on the way: the Hub has then done nothing, and is asked with the other one.
func (h *Hub) do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	for try := 1; ; try++ {
		token, _, err := h.tokens.take()
		if err != nil {
			return err
		}
		err = h.once(ctx, token, method, path, contentType, body, out)
		if claudehub.CodeOf(err) != claudehub.Unauthenticated || !h.tokens.refused(token, err) || try == maxTokens {
			return err
		}
	}
}

func (h *Hub) once(ctx context.Context, token claudehub.Token, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, h.url(path), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	h.sign(req.Header, token)
	resp, err := h.client.Do(req)
	if err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s does not answer.", h.base.Host)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return refusal(resp)
	}
	h.tokens.accepted(token)
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		return err
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<22)).Decode(out)
}

// refusal turns the Hub's problem document into an Error. It closes nothing.
func refusal(resp *http.Response) error {
	var p struct {
		Detail string         `json:"detail"`
		Code   claudehub.Code `json:"code"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&p); err == nil && p.Code != "" {
		return &claudehub.Error{Code: p.Code, Message: p.Detail}
	}
	// Only the Hub's own word is final: a proxy that answers 403 for a minute must not end the Runner.
	return claudehub.WithCause(claudehub.Unavailable, errors.New(resp.Status), "The Hub answered %s. Something between here and the Hub may be in the way.", resp.Status)
}

// final tells an answer of the Hub that trying again does not change: the lease is another process's, or the protocol does
// not fit.
func final(err error) bool {
	switch claudehub.CodeOf(err) {
	case claudehub.Forbidden, claudehub.Conflict:
		return true
	}
	return false
}

func streamPath(host string, takeOver bool) string {
	q := url.Values{"host": {host}}
	if takeOver {
		q.Set("take_over", "true")
	}
	return fmt.Sprintf("%s?%s", wire.StreamPath, q.Encode())
}
