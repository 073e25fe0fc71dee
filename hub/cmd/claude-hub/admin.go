package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

const commandLimit = time.Minute

// admin runs one thing on the Hub's database.
func admin(ctx context.Context, cfg hub.Store, log *slog.Logger, do func(context.Context, *hub.Admin) (string, error)) (string, error) {
	a, err := hub.OpenAdmin(ctx, cfg, log)
	if err != nil {
		return "", err
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	return do(ctx, a)
}

type signInLinkCmd struct {
	hub.Store
	PublicURL string `help:"Where browsers reach the Hub; where it last ran, when empty." env:"CLAUDE_HUB_PUBLIC_URL" placeholder:"URL"`
}

// Run prints a link.
func (c *signInLinkCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	link, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (string, error) {
		return a.SignInLink(ctx, c.PublicURL)
	})
	if err == nil {
		fmt.Fprintln(out, "Sign in:", link)
	}
	return err
}

type runnerCmd struct {
	Add   runnerAddCmd   `cmd:"" help:"Enrol a Runner and print its token, for a pipe into: claude-hub-runner pair."`
	Token runnerTokenCmd `cmd:"" help:"Print a new token for a Runner that lost its own. The old one is good no more."`
}

type runnerAddCmd struct {
	hub.Store
	Name string `help:"What people call this Runner." required:""`
}

// Run prints the token alone.
func (c *runnerAddCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	return printToken(ctx, c.Store, out, log, func(ctx context.Context, a *hub.Admin) (claudehub.Token, error) {
		return a.AddRunner(ctx, c.Name)
	})
}

type runnerTokenCmd struct {
	hub.Store
	Name string `help:"What people call this Runner." required:""`
}

// Run prints the token alone.
func (c *runnerTokenCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	return printToken(ctx, c.Store, out, log, func(ctx context.Context, a *hub.Admin) (claudehub.Token, error) {
		return a.NewRunnerToken(ctx, c.Name)
	})
}

func printToken(ctx context.Context, cfg hub.Store, out output, log *slog.Logger, do func(context.Context, *hub.Admin) (claudehub.Token, error)) error {
	token, err := admin(ctx, cfg, log, func(ctx context.Context, a *hub.Admin) (string, error) {
		t, err := do(ctx, a)
		return t.Reveal(), err
	})
	if err == nil {
		fmt.Fprintln(out, token)
	}
	return err
}

type healthcheckCmd struct {
	Data    string        `help:"The Hub's data directory, which says where it is reached." default:"${data}" type:"path" env:"CLAUDE_HUB_DATA" placeholder:"DIR"`
	Listen  string        `help:"The Hub's address, when it is not to be looked up." env:"CLAUDE_HUB_LISTEN" placeholder:"HOST:PORT"`
	Timeout time.Duration `help:"How long to wait." default:"5s"`
}

// Run asks the Hub whether it is well.
func (c *healthcheckCmd) Run(ctx context.Context) error {
	url := hub.Address(c.Data)
	if c.Listen != "" {
		url = "http://" + c.Listen
	}
	if url == "" {
		return claudehub.Errorf(claudehub.Invalid, "It is not known where the Hub with the data directory %s is reached. Say it with --listen.", c.Data)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/healthz", nil)
	if err != nil {
		return claudehub.WithCause(claudehub.Invalid, err, "%q is no address.", url)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s does not answer.", url)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return claudehub.Errorf(claudehub.Unavailable, "The Hub at %s says that it is not well: %s.", url, resp.Status)
	}
	return nil
}
