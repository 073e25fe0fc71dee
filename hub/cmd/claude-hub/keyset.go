package main

import (
	"context"
	"fmt"
	"log/slog"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

type keysetCmd struct {
	Rotate keysetRotateCmd `cmd:"" help:"Make a new key and encrypt all Variables with it. A running Hub goes on; the old keys stay, for backups. Copy the file to other Hubs that share the database."`
	Reset  keysetResetCmd  `cmd:"" help:"Delete all Variables, when their keyset is lost for good."`
}

type keysetRotateCmd struct{ hub.Store }

// Run says how much was encrypted anew.
func (c *keysetRotateCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	said, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (string, error) {
		n, err := a.RotateKeyset(ctx)
		return fmt.Sprintf("There is a new key, and %d Variables are encrypted with it.", n), err
	})
	if err == nil {
		fmt.Fprintln(out, said)
	}
	return err
}

type keysetResetCmd struct {
	hub.Store
	DeleteVariables bool `help:"Yes, delete them."`
}

// Run says what is gone.
func (c *keysetResetCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	if !c.DeleteVariables {
		return claudehub.Errorf(claudehub.Invalid, "This deletes all Variables of all people. Say --delete-variables if that is meant.")
	}
	said, err := admin(ctx, c.Store, log, func(ctx context.Context, a *hub.Admin) (string, error) {
		n, err := a.ResetKeyset(ctx)
		return fmt.Sprintf("%d Variables are deleted. The next start takes the keyset that it finds, or makes one.", n), err
	})
	if err == nil {
		fmt.Fprintln(out, said)
	}
	return err
}
