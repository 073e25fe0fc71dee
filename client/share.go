package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"claude-hub/internal/claudehub"
)

// Sharing is done by signed-in people: an API token is refused, whatever its scopes.

func (c *Client) sharing(ctx context.Context, method, path string, in any) (out Session, err error) {
	err = c.call(ctx, method, path, true, in, &out)
	return out, err
}

// Share lets a person of the Hub watch a Session.
func (c *Client) Share(ctx context.Context, id SessionID, login string) (Session, error) {
	return c.sharing(ctx, http.MethodPost, sessionPath(id, "/share"), map[string]string{"login": login})
}

// ShareEveryone lets everyone of the Hub watch who can see the Session's repository, or no more.
func (c *Client) ShareEveryone(ctx context.Context, id SessionID, on bool) (Session, error) {
	return c.sharing(ctx, http.MethodPost, sessionPath(id, "/share"), map[string]bool{"everyone": on})
}

// Unshare takes back what a person was given.
func (c *Client) Unshare(ctx context.Context, id SessionID, p PersonID) (Session, error) {
	return c.sharing(ctx, http.MethodDelete, sessionPath(id, "/share")+segment(string(p)), nil)
}

// CreateLink makes an address whose holder may watch, in place of any before it. It is not tried again by itself: the
// address whose answer was lost is lost.
func (c *Client) CreateLink(ctx context.Context, id SessionID) (address string, err error) {
	var out struct {
		URL string `json:"url"`
	}
	err = c.call(ctx, http.MethodPost, sessionPath(id, "/link"), false, nil, &out)
	return out.URL, err
}

// RevokeLink ends the address, and what was got by it.
func (c *Client) RevokeLink(ctx context.Context, id SessionID) (Session, error) {
	return c.sharing(ctx, http.MethodDelete, sessionPath(id, "/link"), nil)
}

// Join watches the Session of an address that CreateLink made. What is behind its # is enough.
func (c *Client) Join(ctx context.Context, address string) (Session, error) {
	token := strings.TrimSpace(address)
	if _, behind, ok := strings.Cut(token, "#"); ok {
		token = behind
	}
	if _, err := claudehub.ParseToken(claudehub.JoinToken, token); err != nil {
		return Session{}, claudehub.Errorf(claudehub.Invalid, "That is not the whole address of a shared Session. Copy all of it.")
	}
	return c.sharing(ctx, http.MethodPost, "/api/join", map[string]string{"token": token})
}

// FindPeople finds people of the Hub by how their login or name begins.
func (c *Client) FindPeople(ctx context.Context, query string) ([]Face, error) {
	return list[Face](ctx, c, "/api/people?q="+url.QueryEscape(query))
}
