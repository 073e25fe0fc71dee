package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"claude-hub/internal/claudehub"
)

type items[T any] struct {
	Items []T `json:"items"`
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.call(ctx, http.MethodGet, path, true, nil, &out)
	return out, err
}

func list[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	out, err := get[items[T]](ctx, c, path)
	if out.Items == nil {
		out.Items = []T{} // in JSON a list is never null
	}
	return out.Items, err
}

// segment makes an id one segment of a path, whatever is in it.
func segment(id string) string { return "/" + url.PathEscape(cmp.Or(id, "-")) }

// Hub tells what the Hub is, without any credential.
func (c *Client) Hub(ctx context.Context) (HubInfo, error) { return get[HubInfo](ctx, c, "/api/hub") }

// Me tells who the Hub takes this client for.
func (c *Client) Me(ctx context.Context) (Person, error) { return get[Person](ctx, c, "/api/me") }

// Sessions lists the Sessions that may be seen: those that are not archived, or those that are.
func (c *Client) Sessions(ctx context.Context, archived bool) ([]Session, error) {
	return list[Session](ctx, c, "/api/sessions?archived="+strconv.FormatBool(archived))
}

// Session is one Session.
func (c *Client) Session(ctx context.Context, id SessionID) (Session, error) {
	return get[Session](ctx, c, sessionPath(id, ""))
}

func sessionPath(id SessionID, rest string) string {
	return "/api/sessions" + segment(string(id)) + rest
}

// CreateSession makes a Session. It is safe to try again with the same Request.
func (c *Client) CreateSession(ctx context.Context, n NewSession) (out Session, err error) {
	n.Request = cmp.Or(n.Request, claudehub.NewNonce())
	err = c.call(ctx, http.MethodPost, "/api/sessions", true, n, &out)
	return out, err
}

// act is an action that is the same done twice.
func (c *Client) act(ctx context.Context, id SessionID, verb string) (out Session, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id, "/"+verb), true, nil, &out)
	return out, err
}

// Sleep stops a Session's Sandbox and keeps everything.
func (c *Client) Sleep(ctx context.Context, id SessionID) (Session, error) {
	return c.act(ctx, id, "sleep")
}

// Wake starts a Session's Sandbox and resumes the conversation.
func (c *Client) Wake(ctx context.Context, id SessionID) (Session, error) {
	return c.act(ctx, id, "wake")
}

// Archive puts a Session away; everything is kept.
func (c *Client) Archive(ctx context.Context, id SessionID) (Session, error) {
	return c.act(ctx, id, "archive")
}

// Unarchive takes a Session back, asleep.
func (c *Client) Unarchive(ctx context.Context, id SessionID) (Session, error) {
	return c.act(ctx, id, "unarchive")
}

// Prompts lists the newest prompts of a Session, the oldest of them first.
func (c *Client) Prompts(ctx context.Context, id SessionID) ([]Prompt, error) {
	return list[Prompt](ctx, c, sessionPath(id, "/prompts"))
}

// AddPrompt queues a prompt. The same request twice gives the same prompt; when empty, one is made.
func (c *Client) AddPrompt(ctx context.Context, id SessionID, text, request string) (out Prompt, err error) {
	if err := claudehub.ValidPrompt(text); err != nil {
		return out, err
	}
	in := map[string]string{"text": text, "request": cmp.Or(request, claudehub.NewNonce())}
	err = c.call(ctx, http.MethodPost, sessionPath(id, "/prompts"), true, in, &out)
	return out, err
}

// CancelPrompt takes a prompt back that Claude does not have yet.
func (c *Client) CancelPrompt(ctx context.Context, id SessionID, prompt PromptID) (out Prompt, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(id, "/prompts")+segment(string(prompt))+"/cancel", true, nil, &out)
	return out, err
}

// History lists Turns and notices of a Session, the newest last.
func (c *Client) History(ctx context.Context, id SessionID) ([]Entry, error) {
	return list[Entry](ctx, c, sessionPath(id, "/history"))
}

// Runners lists the Runners that may be seen.
func (c *Client) Runners(ctx context.Context) ([]Runner, error) {
	return list[Runner](ctx, c, "/api/runners")
}

// SignOut ends the API token that this Client has, at once: it is good for nothing more.
func (c *Client) SignOut(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/api/sign-out", true, nil, nil)
}

// RevokeRunner ends a Runner's credential at once. Its Sessions stay listed.
func (c *Client) RevokeRunner(ctx context.Context, id RunnerID) error {
	return c.call(ctx, http.MethodDelete, "/api/runners"+segment(string(id)), true, nil, nil)
}

// Tokens lists this person's API tokens.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	return list[Token](ctx, c, "/api/tokens")
}

// CreateToken makes an API token, for who is signed in by a browser: an API token makes no other, and is refused. It is not
// tried again by itself: the secret of one whose answer was lost is lost.
func (c *Client) CreateToken(ctx context.Context, n NewToken) (out MadeToken, err error) {
	if n.Scopes == nil {
		n.Scopes = []Scope{}
	}
	err = c.call(ctx, http.MethodPost, "/api/tokens", false, n, &out)
	return out, err
}

// RevokeToken ends an API token at once. Another API token needs the scope drive for that.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/api/tokens"+segment(id), true, nil, nil)
}
