package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

const commandLimit = time.Minute

// admin runs one thing on the Hub's database, within a time.
func admin[T any](ctx context.Context, cfg hub.Store, log *slog.Logger, do func(context.Context, *hub.Admin) (T, error)) (T, error) {
	a, err := hub.OpenAdmin(ctx, cfg, log)
	if err != nil {
		var none T
		return none, err
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	return do(ctx, a)
}

type signInLinkCmd struct {
	hub.Store
	asJSON
	PublicURL string `help:"Where browsers reach the Hub; where it last ran, when empty." env:"CLAUDE_HUB_PUBLIC_URL" placeholder:"URL"`
}

// Run prints a link.
func (c *signInLinkCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	link, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (string, error) {
		return a.SignInLink(ctx, c.PublicURL)
	})
	if err != nil {
		return err
	}
	return c.print(out, map[string]string{"url": link}, func() { fmt.Fprintln(out, "Sign in:", link) })
}

type setupCodeCmd struct {
	hub.Store
	asJSON
	PublicURL string `help:"Where browsers reach the Hub; where it last ran, when empty." env:"CLAUDE_HUB_PUBLIC_URL" placeholder:"URL"`
}

// Run prints a code, and where to enter it.
func (c *setupCodeCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	made, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (hub.Setup, error) {
		return a.SetupCode(ctx, c.PublicURL)
	})
	if err != nil {
		return err
	}
	return c.print(out, map[string]string{"code": made.Code.Reveal(), "url": made.URL}, func() { fmt.Fprintln(out, made.Line()) })
}

type runnerCmd struct {
	Add   runnerAddCmd   `cmd:"" help:"Enrol a Runner and print its token, for a pipe into: claude-hub-runner pair."`
	Token runnerTokenCmd `cmd:"" help:"Print a new token for a Runner that lost its own. The old one is good no more."`
}

type runnerAddCmd struct {
	hub.Store
	asJSON
	Name string `help:"What people call this Runner." required:""`
}

// Run prints the token alone.
func (c *runnerAddCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	token, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (claudehub.Token, error) {
		return a.AddRunner(ctx, c.Name)
	})
	return c.token(out, c.Name, token, err)
}

type runnerTokenCmd struct {
	hub.Store
	asJSON
	Name string `help:"What people call this Runner." required:""`
}

// Run prints the token alone.
func (c *runnerTokenCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	token, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (claudehub.Token, error) {
		return a.NewRunnerToken(ctx, c.Name)
	})
	return c.token(out, c.Name, token, err)
}

func (f asJSON) token(out output, name string, token claudehub.Token, err error) error {
	if err != nil {
		return err
	}
	return f.print(out, map[string]string{"name": name, "token": token.Reveal()}, func() { fmt.Fprintln(out, token.Reveal()) })
}
