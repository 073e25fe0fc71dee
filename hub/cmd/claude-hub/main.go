// Command claude-hub is the Hub: the server, and what its owner does beside it.
package main

import (
	"context"
	"encoding/json"
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

	"claude-hub/client/cli"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/redact"
)

// version is set by the linker for a release.
var version = "dev"

// verbs are all that the program does: what an operator does with a Hub and beside it, and what people do at one.
type verbs struct {
	Config configFile `help:"A TOML file with the same names as the flags. Flags and the environment win over it." placeholder:"FILE" env:"CLAUDE_HUB_CONFIG" type:"path"`

	Serve       serveCmd       `cmd:"" group:"operator" help:"Run the Hub. It prints how to sign in."`
	SignInLink  signInLinkCmd  `cmd:"" group:"operator" help:"Print another sign-in link, in local mode. Each works once, within 15 minutes."`
	SetupCode   setupCodeCmd   `cmd:"" group:"operator" help:"Print another set-up code, as long as nobody is admin. Each works once."`
	Runner      runnerCmd      `cmd:"" group:"operator" help:"The Runners of a Hub in local mode."`
	Keyset      keysetCmd      `cmd:"" group:"operator" help:"The keys that secrets in the database are encrypted with."`
	Audit       auditCmd       `cmd:"" group:"operator" help:"The audit log: who did what, from where, when."`
	Healthcheck healthcheckCmd `cmd:"" group:"operator" help:"Exit with 0 if the Hub answers."`
	Openapi     openapiCmd     `cmd:"" group:"operator" help:"Print the OpenAPI document of the Hub."`
	Version     versionCmd     `cmd:"" group:"operator" help:"Print the version."`

	cli.Commands `group:"people"`
}

const people = "people" // the group of verbs that are done at a Hub, by its API

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
	var c verbs
	exit := -1
	parser, err := kong.New(&c, kong.Name("claude-hub"), kong.Description("The Hub of claude-hub: Claude Code Sessions, reached from any browser."),
		kong.Vars{"data": filepath.Join(home, ".claude-hub", "hub")}, kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }),
		kong.ExplicitGroups([]kong.Group{{Key: "operator", Title: "For who runs a Hub"}, {Key: people, Title: "For who uses one"}}),
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
		env := cli.NewEnv()
		env.Out, env.Err = stdout, stderr
		k.Bind(output{stdout}, newLog(stderr, slog.LevelWarn), logTo{stderr}, env)
		err = k.Run()
	}
	if err != nil {
		fmt.Fprintln(stderr, "claude-hub:", redact.Text(sentence(err)))
		return exitCode(k, err)
	}
	return 0
}

// exitCode: the verbs for people tell what went wrong by it; the others tell that something did.
func exitCode(k *kong.Context, err error) int {
	var unread *kong.ParseError
	if errors.As(err, &unread) {
		k = unread.Context
	}
	if k != nil {
		for _, p := range k.Path {
			if p.Command != nil && p.Command.Group != nil && p.Command.Group.Key == people {
				if unread != nil {
					return 2
				}
				return cli.ExitCode(err)
			}
		}
	}
	return 1
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

type versionCmd struct{ asJSON }

// Run prints the version, and the commit that it was built from where that is known.
func (v versionCmd) Run(out output) error {
	return v.print(out, map[string]string{"version": version, "commit": commit()}, func() {
		said := "claude-hub " + version
		if c := commit(); c != "" {
			said += " (" + c + ")"
		}
		fmt.Fprintln(out, said)
	})
}

// asJSON says how an answer is written.
type asJSON struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// print writes one JSON document, or lets human write.
func (f asJSON) print(out output, v any, human func()) error {
	if !f.JSON {
		human()
		return nil
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return ""
}
