// Command claude-hub-runner is the Runner without a window: for servers, for CI, and beneath the desktop app.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"claude-hub/desktop/runner"
	"claude-hub/internal/claudehub"
)

type cli struct {
	Dir      string `help:"The Runner's state folder. Keep its path short: sockets live in it." default:"${dir}" env:"CLAUDE_HUB_RUNNER_DIR" type:"path"`
	LogLevel string `help:"debug, info, warn or error." default:"info" enum:"debug,info,warn,error" env:"CLAUDE_HUB_LOG_LEVEL"`
	backendFlag

	Run       runCmd       `cmd:"" help:"Work: link to the Hub and run Sessions."`
	Pair      pairCmd      `cmd:"" help:"Pair this machine with a Hub: it shows a code that you approve there."`
	Paired    pairedCmd    `cmd:"" help:"Say which Hub this Runner is paired with; exit 1 if none, or if the Hub refuses it."`
	Unpair    unpairCmd    `cmd:"" help:"Forget the Hub. Sessions and their files on this machine stay."`
	Token     tokenCmd     `cmd:"" help:"The setup token that Claude Code runs with. It never leaves this machine."`
	Doctor    doctorCmd    `cmd:"" help:"Say whether Sessions can run here, and how to mend what is in the way."`
	Sandboxes sandboxesCmd `cmd:"" help:"The Sandboxes on this machine."`
	Claude    claudeCmd    `cmd:"" help:"Fetch the pinned Claude Code, verify all of it, and print its path."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

func main() {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	var c cli
	k := kong.Parse(&c, kong.Name("claude-hub-runner"), kong.Description("Runs Claude Code Sessions on this machine for a claude-hub."),
		kong.Vars{"dir": filepath.Join(home, ".claude-hub", "runner"), "version": runner.Version}, kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	if err := k.Run(&c); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "claude-hub-runner:", sentence(err))
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// sentence is what a person reads of an error: its own sentence, and the cause where it has none.
func sentence(err error) string {
	var e *claudehub.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// stateDir makes the state folder, for this user alone.
func (c *cli) stateDir() (string, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", claudehub.WithCause(claudehub.Invalid, err, "The folder %s cannot be made: %v. Choose another with --dir.", c.Dir, err)
	}
	return c.Dir, nil
}
