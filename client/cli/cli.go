package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// Commands are the verbs for people, to be embedded in the command's own struct. Their Run methods need a
// context.Context and an *Env bound.
type Commands struct {
	Login      LoginCmd      `cmd:"" help:"Sign in to a Hub: you approve a code in a browser. Or by an API token from standard input."`
	Logout     LogoutCmd     `cmd:"" help:"Sign out of a Hub on this machine."`
	Sessions   SessionsCmd   `cmd:"" help:"Your Sessions."`
	Runners    RunnersCmd    `cmd:"" help:"List your Runners."`
	Tokens     TokensCmd     `cmd:"" help:"Your API tokens."`
	Completion CompletionCmd `cmd:"" help:"Print the completion script of a shell."`
	Complete   CompleteCmd   `cmd:"" name:"__complete" hidden:"" passthrough:""`
}

// Env is what the commands take from outside.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Dir is where the sign-in is kept.
	Dir    string
	Getenv func(string) string
	// Transport reaches the Hub another way or with another credential; nil for the usual one.
	Transport http.RoundTripper
	// SignIn gets a token from the Hub that c is a client of, and says on out what to do; nil to ask for a token.
	SignIn func(ctx context.Context, c *client.Client, out io.Writer) (token string, err error)
	// Browse opens a page in a browser; nil where there is none.
	Browse func(address string) error
}

// NewEnv is the Env of this process.
func NewEnv() *Env {
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = "."
	}
	e := &Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Dir: filepath.Join(dir, "claude-hub"), Getenv: os.Getenv, Browse: browser(os.Getenv)}
	e.SignIn = e.byBrowser
	return e
}

// Target says which Hub is meant.
type Target struct {
	Hub string `help:"The Hub's address; the Hub that was signed in to last, when empty. CLAUDE_HUB_TOKEN gives a token without signing in." env:"CLAUDE_HUB_URL" placeholder:"URL"`
}

// Format says how answers are written.
type Format struct {
	JSON bool `name:"json" help:"Print JSON, in the API's own shape."`
}

// open makes a Client of the Hub that is meant.
func (t Target) open(e *Env) (*client.Client, error) {
	saved, err := e.load()
	if err != nil {
		return nil, err
	}
	address := cmp.Or(tidy(t.Hub), saved.Current)
	if address == "" {
		return nil, claudehub.Errorf(claudehub.Unauthenticated, "You are not signed in to a Hub. Run: claude-hub login --hub https://your-hub.example.org")
	}
	in := saved.Hubs[address]
	token := cmp.Or(e.Getenv("CLAUDE_HUB_TOKEN"), in.Token)
	if token == "" && e.Transport == nil {
		return nil, claudehub.Errorf(claudehub.Unauthenticated, "You are not signed in to %s. Run: claude-hub login --hub %s", address, address)
	}
	return e.client(address, token, in.PlainHTTP)
}

func (e *Env) client(address, token string, plain bool) (*client.Client, error) {
	var options []client.Option
	if e.Transport != nil {
		options = append(options, client.WithTransport(e.Transport))
	}
	if plain {
		options = append(options, client.WithPlainHTTP())
	}
	return client.New(address, token, options...)
}

// print writes one JSON document, or lets human write.
func (f Format) print(e *Env, v any, human func() error) error {
	if !f.JSON {
		return human()
	}
	enc := json.NewEncoder(e.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

type items[T any] struct {
	Items []T `json:"items"`
}

// ExitCode is what a command that ended with err exits with: 0 for nil, 2 for a wrong request, 3 for someone who is not
// signed in or may not, 4 for what is not there, 5 for a Hub that cannot be reached or has no room, 130 when it was
// interrupted, and 1 for everything else.
func ExitCode(err error) int {
	switch claudehub.CodeOf(err) {
	case "":
		return 0
	case claudehub.Invalid, claudehub.TooLarge:
		return 2
	case claudehub.Unauthenticated, claudehub.Forbidden:
		return 3
	case claudehub.NotFound, claudehub.Expired:
		return 4
	case claudehub.Unavailable, claudehub.TooMany:
		return 5
	}
	if errors.Is(err, context.Canceled) {
		return 130
	}
	return 1
}

// terminal is the file behind a stream, when that is a terminal.
func terminal(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// readAll reads standard input up to a limit.
func readAll(r io.Reader, limit int) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case err != nil:
		return "", claudehub.WithCause(claudehub.Invalid, err, "Standard input cannot be read.")
	case len(b) > limit:
		return "", claudehub.Errorf(claudehub.TooLarge, "Standard input has more than %d KB.", limit>>10)
	}
	return string(b), nil
}

// now is when something happened, as tables tell it.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(time.Since(t)) + " ago"
}

func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return (d.Truncate(time.Second)).String()
	case d < time.Hour:
		return itoa(d/time.Minute) + " min"
	case d < 48*time.Hour:
		return itoa(d/time.Hour) + " h"
	}
	return itoa(d/(24*time.Hour)) + " days"
}
