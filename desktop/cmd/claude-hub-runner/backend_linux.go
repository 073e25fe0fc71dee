package main

import (
	"context"
	"log/slog"

	"claude-hub/desktop/runner"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
)

// backend makes the Backend that was chosen. By itself it chooses microVMs where they work: KVM makes one, and msb of the
// right version is there.
func (c *cli) backend(dir string, log *slog.Logger) (sandbox.Backend, error) {
	if c.Backend == "microsandbox" {
		return microVMs(dir, log)
	}
	boxes, err := bubblewrap.New(bubblewrap.Options{State: runner.SandboxDir(dir), Log: log})
	if err != nil || c.Backend == "bubblewrap" {
		return boxes, err
	}
	vms, err := microVMs(dir, log)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), glanceTimeout)
		defer cancel()
		err = vms.Ready(ctx)
	}
	if err == nil {
		return vms, nil
	}
	return hinted{boxes, possible(err)}, nil
}
