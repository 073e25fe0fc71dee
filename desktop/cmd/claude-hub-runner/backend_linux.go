package main

import (
	"log/slog"

	"claude-hub/desktop/runner"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
)

func (c *cli) backend(dir string, log *slog.Logger) (sandbox.Backend, error) {
	return bubblewrap.New(bubblewrap.Options{State: runner.SandboxDir(dir), Log: log})
}
