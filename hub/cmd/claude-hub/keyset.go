package main

import (
	"context"
	"fmt"
	"log/slog"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

type keysetCmd struct {
	Rotate keysetRotateCmd `cmd:"" help:"Make a new key and encrypt everything with it. A running Hub goes on; the old keys stay, for backups. Copy the file to other Hubs that share the database."`
	Reset  keysetResetCmd  `cmd:"" help:"Delete all Variables, when their keyset is lost for good."`
}

type keysetRotateCmd struct {
	hub.Store
	asJSON
}

// Run says how much was encrypted anew.
func (c *keysetRotateCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	n, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (int, error) { return a.RotateKeyset(ctx) })
	if err != nil {
		return err
	}
	return c.print(out, map[string]int{"variables": n}, func() {
		fmt.Fprintf(out, "There is a new key, and %d Variables are encrypted with it.\n", n)
	})
}

type keysetResetCmd struct {
	hub.Store
	asJSON
	DeleteVariables bool `help:"Yes, delete them."`
}

// Run says what is gone.
func (c *keysetResetCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	if !c.DeleteVariables {
		return claudehub.Errorf(claudehub.Invalid, "This deletes all Variables of all people. Say --delete-variables if that is meant.")
	}
	n, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (int, error) { return a.ResetKeyset(ctx) })
	if err != nil {
		return err
	}
	return c.print(out, map[string]int{"deleted": n}, func() {
		fmt.Fprintf(out, "%d Variables are deleted. The next start takes the keyset that it finds, or makes one.\n", n)
	})
}
