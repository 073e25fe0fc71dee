package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
)

type tokenCmd struct {
	Set    tokenSetCmd    `cmd:"" help:"Take the token that claude setup-token printed."`
	Status tokenStatusCmd `cmd:"" help:"Say whether there is one, and where; exit 1 if not."`
	Remove tokenRemoveCmd `cmd:"" help:"Forget it."`
}

type tokenSetCmd struct {
	Stdin    bool `help:"Read it from standard input instead of asking."`
	Optional bool `help:"An empty answer is fine."`
}

func (t *tokenSetCmd) Run(ctx context.Context, c *cli) error {
	store, _, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	raw, err := t.ask()
	if err != nil {
		return err
	}
	if raw == "" && t.Optional {
		return nil
	}
	token, err := claude.ParseToken(raw)
	if err != nil {
		return err
	}
	if err := store.Set(ctx, setupTokenName, token.Secret()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "The setup token is kept in %s. Sessions that waited for it start by themselves.\n", store.Where())
	return nil
}

// ask reads the token without showing it.
func (t *tokenSetCmd) ask() (string, error) {
	if t.Stdin {
		return readLine(os.Stdin)
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", claudehub.Errorf(claudehub.Invalid, "Standard input is no terminal. Pipe the token in with --stdin.")
	}
	fmt.Fprint(os.Stderr, "Setup token (not shown): ")
	b, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return string(b), nil
}

type tokenStatusCmd struct{}

func (*tokenStatusCmd) Run(ctx context.Context, c *cli) error {
	store, _, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	raw, err := store.Get(ctx, setupTokenName)
	if err != nil {
		return err
	}
	if raw == "" {
		return claudehub.Errorf(claudehub.NotFound, "There is no setup token. Run claude setup-token, then claude-hub-runner token set.")
	}
	fmt.Printf("There is a setup token, in %s.\n", store.Where())
	return nil
}

type tokenRemoveCmd struct{}

func (*tokenRemoveCmd) Run(ctx context.Context, c *cli) error {
	store, _, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	return store.Delete(ctx, setupTokenName)
}
