package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	gh "github.com/google/go-github/v93/github"
	"golang.org/x/oauth2"

	"claude-hub/internal/claudehub"
)

// early is how long before its end a token is renewed.
const early = 5 * time.Minute

// renewed returns the token, or a new one for it when it ends soon; a refusal when there is none to be had.
func (c *Client) renewed(ctx context.Context, t Token, keep func(context.Context, Token) error) (Token, error) {
	if t.IsZero() || t.secret().Expires.IsZero() || c.now().Add(early).Before(t.secret().Expires) {
		return t, nil
	}
	if t.secret().Refresh == "" {
		if c.now().Before(t.secret().Expires) {
			return t, nil
		}
		return Token{}, &refusal{"a token", http.StatusUnauthorized}
	}
	asking, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	source := c.oauth("").TokenSource(c.withHTTP(asking), &oauth2.Token{RefreshToken: t.secret().Refresh})
	got, err := source.Token()
	word, outage := classifyToken(asking, err)
	switch {
	case outage != nil:
		return Token{}, outage
	case word == codeRefresh || word == codeGrant || word == codeBad:
		return Token{}, &refusal{"a token", http.StatusUnauthorized}
	case word != "":
		return Token{}, misconfigured(word)
	}
	fresh, err := tokenOf(got)
	if err != nil {
		return Token{}, &Outage{Endpoint: "a token", What: "the answer is malformed"}
	}
	if err := keep(ctx, fresh); err != nil {
		return Token{}, fmt.Errorf("keep the renewed GitHub token: %w", err)
	}
	return fresh, nil
}

// Revoke ends a token at GitHub; one that is gone already is fine. For a person who is turned away, signs out for good,
// or is removed.
func (c *Client) Revoke(ctx context.Context, t Token) error {
	if t.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*c.config.Timeout)
	defer cancel()
	basic := *c.http
	basic.Transport = &gh.BasicAuthTransport{
		Username: c.config.ClientID, Password: c.config.ClientSecret, Transport: c.http.Transport, AllowedOrigins: []*url.URL{c.api},
	}
	rest, err := c.rest(gh.WithHTTPClient(&basic))
	if err != nil {
		return err
	}
	err = c.again(ctx, "the end of a token", func(ctx context.Context) error {
		_, err := rest.Authorizations.Revoke(ctx, c.config.ClientID, t.secret().Access)
		return err
	})
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusUnprocessableEntity:
		return nil
	case errors.As(err, &no):
		return claudehub.WithCause(claudehub.Unavailable, no, "GitHub does not accept this Hub's application. Its operator has to compare client id and secret with what is registered at GitHub.")
	}
	return sentence(err)
}
