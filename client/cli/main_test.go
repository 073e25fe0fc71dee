package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"claude-hub/client/cli"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
)

// The test binary is the program too, so that it can sit in a real terminal.
const (
	asProgram = "CLAUDE_HUB_TEST_AS_PROGRAM"
	withCook  = "CLAUDE_HUB_TEST_COOKIE"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		e := cli.NewEnv()
		if c := os.Getenv(withCook); c != "" {
			e.Transport = signedIn(c)
		}
		os.Exit(program(context.Background(), os.Args[1:], e))
	}
	code := m.Run()
	runnertest.CloseIdle()
	transport.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("left running: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// program is what the command does with Commands.
func program(ctx context.Context, args []string, e *cli.Env) int {
	var c struct{ cli.Commands }
	exit := -1
	parser, err := kong.New(&c, kong.Name("claude-hub"), kong.Writers(e.Out, e.Err), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		panic(err)
	}
	k, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		fmt.Fprintln(e.Err, "claude-hub:", err)
		return 2
	}
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(e)
	if err := k.Run(); err != nil {
		fmt.Fprintln(e.Err, "claude-hub:", claudehub.MessageOf(err))
		return cli.ExitCode(err)
	}
	return 0
}

// signedIn proves who asks by a browser's cookie.
type signedIn string

var transport = &http.Transport{DisableKeepAlives: true}

func (s signedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Cookie", string(s))
	return transport.RoundTrip(r)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
