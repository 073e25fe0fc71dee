// Command standin-anthropic serves the stand-in for Anthropic's API on loopback: for tests and for the demo, never for
// anything that should look like the real service. Its first line of output says where it listens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"claude-hub/internal/standin/anthropic"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "standin-anthropic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("standin-anthropic", flag.ContinueOnError)
	flags.SetOutput(errOut)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to listen on")
	script := flags.String("script", "", "script `file`; without one, every prompt is echoed")
	tokenFile := flags.String("token-file", "", "`file` with the bearer token that callers must carry; without one, any")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	options, err := read(*script, *tokenFile)
	if err != nil {
		return err
	}
	server, err := anthropic.New(options)
	if err != nil {
		return err
	}
	l, err := listenLoopback(ctx, *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening http://%s\n", l.Addr())
	fmt.Fprintf(out, "This is the %s. It is not Anthropic, and no model answers here.\n", anthropic.Name)
	return serve(ctx, l, server.Handler())
}

func read(script, tokenFile string) (anthropic.Options, error) {
	var o anthropic.Options
	if script != "" {
		s, err := anthropic.LoadScript(script)
		if err != nil {
			return o, err
		}
		o.Script = s
	}
	if tokenFile != "" {
		b, err := os.ReadFile(tokenFile)
		if err != nil {
			return o, fmt.Errorf("read token: %w", err)
		}
		if o.Token = strings.TrimSpace(string(b)); o.Token == "" {
			return o, fmt.Errorf("the token file %s is empty", tokenFile)
		}
	}
	return o, nil
}

// listenLoopback refuses an address that other machines could reach.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address; the stand-in serves this machine alone (use 127.0.0.1:PORT)", host)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// An answer that hangs has no end of its own, so there is nothing to wait for.
	err := srv.Close()
	if e := <-done; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
