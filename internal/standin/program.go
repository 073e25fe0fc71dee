package standin

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
)

// Program is one stand-in's program.
type Program struct {
	Name   string // of the program
	Banner string // what it is, and what it is not
	// Flags are the program's own; New is called once they are read.
	Flags func(*flag.FlagSet)
	New   func() (http.Handler, error)
}

// Main runs the program until it is interrupted, and ends the process.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, p.Name+":", err)
		os.Exit(1)
	}
}

// Run serves until ctx ends. The first line of out says where.
func (p Program) Run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(errOut)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to listen on")
	p.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	handler, err := p.New()
	if err != nil {
		return err
	}
	l, err := listenLoopback(ctx, *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening http://%s\n%s\n", l.Addr(), p.Banner)
	return serve(ctx, l, handler)
}

// ReadSecret reads a secret from a file, where one is named: what a command line holds, others can read.
func ReadSecret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("the secret file %s is empty", path)
	}
	return text, nil
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
