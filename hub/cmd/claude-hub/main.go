// Command claude-hub is the Hub: the server, and what its owner does beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/redact"
)

// version is set by the linker for a release.
var version = "dev"

type cli struct {
	Config configFile `help:"A TOML file with the same names as the flags. Flags and the environment win over it." placeholder:"FILE" env:"CLAUDE_HUB_CONFIG" type:"path"`

	Serve       serveCmd       `cmd:"" help:"Run the Hub. It prints one sign-in link."`
	SignInLink  signInLinkCmd  `cmd:"" help:"Print another sign-in link. Each works once, within 15 minutes."`
	Runner      runnerCmd      `cmd:"" help:"The Runners of this Hub."`
	Keyset      keysetCmd      `cmd:"" help:"The keys that Variables are encrypted with."`
	Healthcheck healthcheckCmd `cmd:"" help:"Exit with 0 if the Hub answers."`
	Openapi     openapiCmd     `cmd:"" help:"Print the OpenAPI document of the Hub."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills as usual
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// output is where the answers of commands go, and nothing else.
type output struct{ io.Writer }

// run is main without the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("claude-hub"), kong.Description("The Hub of claude-hub: Claude Code Sessions, reached from any browser."),
		kong.Vars{"data": filepath.Join(home, ".claude-hub", "hub")}, kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(stderr, "claude-hub:", err)
		return 1
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // help was asked for
		return exit
	}
	if err == nil {
		k.BindTo(ctx, (*context.Context)(nil))
		k.Bind(output{stdout}, newLog(stderr, slog.LevelWarn), logTo{stderr})
		err = k.Run()
	}
	if err != nil {
		fmt.Fprintln(stderr, "claude-hub:", redact.Text(sentence(err)))
		return 1
	}
	return 0
}

// logTo is where serve, which knows its level, logs to.
type logTo struct{ io.Writer }

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(redact.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})))
}

// sentence is what a person reads of an error: its own sentence, with what lay underneath where that helps the owner
// of the machine.
func sentence(err error) string {
	var e *claudehub.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + " (" + strings.TrimSpace(strings.ReplaceAll(e.Cause.Error(), "\n", " ")) + ")"
}

type versionCmd struct{}

// Run prints the version, and the commit that it was built from where that is known.
func (versionCmd) Run(out output) error {
	_, err := fmt.Fprintln(out, "claude-hub", version+commit())
	return err
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return " (" + s.Value[:12] + ")"
		}
	}
	return ""
}
