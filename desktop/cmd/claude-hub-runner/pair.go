package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"claude-hub/desktop/keychain"
	"claude-hub/desktop/runner"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// setupTokenName is the setup token's name in the keychain. The Runner's own tokens are package runner's.
const setupTokenName = "setup-token"

func (c *cli) keychain(ctx context.Context) (*keychain.Store, string, error) {
	dir, err := c.stateDir()
	if err != nil {
		return nil, "", err
	}
	store, err := keychain.Open(ctx, keychain.Options{Dir: filepath.Join(dir, "keys"), Scope: dir})
	return store, dir, err
}

func (c *cli) pairing(ctx context.Context) (*runner.PairingStore, error) {
	store, dir, err := c.keychain(ctx)
	if err != nil {
		return nil, err
	}
	return runner.NewPairingStore(dir, store), nil
}

type pairCmd struct {
	Hub        string `help:"The Hub's address, like https://hub.example.org." required:""`
	Name       string `help:"What this machine is called at the Hub; its host name by default."`
	TokenStdin bool   `help:"Take a Runner token from standard input instead of showing a code: what claude-hub runner add prints, for a Hub in local mode."`
	NoBrowser  bool   `help:"Open no browser."`
}

func (p *pairCmd) Run(ctx context.Context, c *cli) error {
	store, err := c.pairing(ctx)
	if err != nil {
		return err
	}
	hub := strings.TrimSuffix(p.Hub, "/")
	if _, err := runner.NewHub(hub, claudehub.Token{}); err != nil {
		return err
	}
	last, _ := store.Last() // one that cannot be read is replaced
	line, piped, err := p.piped(os.Stdin)
	if err != nil {
		return err
	}
	var next runner.Pairing
	var token claudehub.Token
	if piped {
		next, token, err = byHand(hub, line)
	} else {
		next, token, err = p.byCode(ctx, hub, last)
	}
	if err != nil {
		return err
	}
	if err := store.Keep(ctx, next, token); err != nil {
		return err
	}
	said := "Paired with " + hub
	if next.Runner != "" {
		said += fmt.Sprintf(" as %s. It belongs to %s", next.Name, next.Login)
	}
	fmt.Fprintf(os.Stderr, "%s.\n%s", said, whatNow(c.Dir, last, next))
	return nil
}

// whatNow says what has to happen for a new pairing to be used.
func whatNow(dir string, last, next runner.Pairing) string {
	lock, err := runner.Lock(dir)
	switch {
	case err == nil:
		_ = lock.Close() // nobody runs
		return ""
	case last.Hub == "" || last.Hub == next.Hub:
		return "The Runner that runs here takes that up within seconds.\n"
	}
	return "A Runner runs here for " + last.Hub + ". Start it again: until then it does not link to any Hub.\n"
}

// byHand takes a token that was made at the Hub.
func byHand(hub, line string) (runner.Pairing, claudehub.Token, error) {
	token, err := claudehub.ParseToken(claudehub.RunnerToken, line)
	if err != nil {
		return runner.Pairing{}, token, claudehub.Errorf(claudehub.Invalid, "That is not a Runner token. It starts with chr_; claude-hub runner add prints one.")
	}
	return runner.Pairing{Hub: hub, Since: time.Now().UTC()}, token, nil
}

// byCode has a person approve a code at the Hub. A machine that was paired with it before asks to be the same Runner again,
// with its Sessions.
func (p *pairCmd) byCode(ctx context.Context, hub string, last runner.Pairing) (runner.Pairing, claudehub.Token, error) {
	request := runner.PairRequest{Hub: hub, Name: runnerName(p.Name), Show: func(code wire.DeviceCode) {
		fmt.Fprint(os.Stderr, invitation(code))
		if !p.NoBrowser {
			openBrowser(code.VerificationURI)
		}
	}}
	if last.Hub == hub {
		request.Again = last.Runner
	}
	got, err := runner.Pair(ctx, request)
	if err != nil {
		return runner.Pairing{}, claudehub.Token{}, err
	}
	token, err := claudehub.ParseToken(claudehub.RunnerToken, got.Token)
	return runner.Pairing{Hub: hub, Runner: got.Runner, Name: got.Name, Login: got.Login, Since: time.Now().UTC()}, token, err
}

// invitation is what a person reads who shall approve this machine.
func invitation(code wire.DeviceCode) string {
	return fmt.Sprintf("\nOpen %s in a browser and enter this code:\n\n    %s\n\nOr open %s\nThe code is good for %d minutes. Approve it only if it is the one that you see here.\n\n",
		code.VerificationURI, code.UserCode, code.Complete, max(code.ExpiresIn/60, 1))
}

// runnerName is what the Hub shows of this machine, as long as it may be.
func runnerName(name string) string {
	if name == "" {
		name, _ = os.Hostname() // "" gets a name below
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "Runner"
	}
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName])
	}
	return name
}

const maxName = 60

// piped reads a token from standard input, where one is given. What is no terminal and not empty is one: scripts pipe it in
// without a flag. An empty one, as of a program that starts this one, is none.
func (p *pairCmd) piped(in *os.File) (line string, piped bool, err error) {
	if info, err := in.Stat(); !p.TokenStdin && (err != nil || info.Mode()&os.ModeCharDevice != 0) {
		return "", false, nil // a terminal, /dev/null, or nothing at all
	}
	hint := time.AfterFunc(3*time.Second, func() {
		fmt.Fprintln(os.Stderr, "Waiting for a Runner token on standard input, which is a pipe. To pair by a code instead, add </dev/null.")
	})
	defer hint.Stop()
	line, err = readLine(in)
	return line, p.TokenStdin || line != "", err
}

// maxLine bounds a credential on standard input.
const maxLine = 4096

func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return strings.TrimSpace(line), nil
}
