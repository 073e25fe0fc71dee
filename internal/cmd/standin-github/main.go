// Command standin-github serves the stand-in for GitHub on loopback: for tests and for the demo, never for anything
// that should look like the real service. Its first line of output says where it listens.
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

	"claude-hub/internal/standin/github"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "standin-github:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("standin-github", flag.ContinueOnError)
	flags.SetOutput(errOut)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to listen on")
	script := flags.String("script", "", "script `file`: the application, people and organisations (needed)")
	secretFile := flags.String("client-secret-file", "", "`file` with the secret that the application must show; without one, any")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	options, err := read(*script, *secretFile)
	if err != nil {
		return err
	}
	server, err := github.New(options)
	if err != nil {
		return err
	}
	l, err := listenLoopback(ctx, *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening http://%s\n", l.Addr())
	fmt.Fprintf(out, "This is the %s. It is not GitHub, and knows nobody's account there.\n", github.Name)
	return serve(ctx, l, server.Handler())
}

func read(script, secretFile string) (github.Options, error) {
	if script == "" {
		return github.Options{}, errors.New("say with --script who there is; the package doc of internal/standin/github shows the form")
	}
	s, err := github.LoadScript(script)
	if err != nil {
		return github.Options{}, err
	}
	o := github.Options{Script: s}
	if secretFile != "" {
		b, err := os.ReadFile(secretFile)
		if err != nil {
			return o, fmt.Errorf("read client secret: %w", err)
		}
		if o.ClientSecret = strings.TrimSpace(string(b)); o.ClientSecret == "" {
			return o, fmt.Errorf("the secret file %s is empty", secretFile)
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
