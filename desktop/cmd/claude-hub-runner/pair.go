package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"claude-hub/desktop/keychain"
	"claude-hub/desktop/runner"
	"claude-hub/internal/claudehub"
)

// Names in the keychain.
const (
	runnerTokenName = "runner-token"
	setupTokenName  = "setup-token"
)

// pairing is what is kept of the Hub beside the token: its address.
type pairing struct {
	Hub string `json:"hub"`
}

func pairingPath(dir string) string { return filepath.Join(dir, "hub.json") }

func readPairing(dir string) (pairing, error) {
	b, err := os.ReadFile(pairingPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return pairing{}, claudehub.Errorf(claudehub.NotFound,
			"This Runner is not paired with a Hub. Make a token with claude-hub runner add, and give it to claude-hub-runner pair --hub URL.")
	}
	var p pairing
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, claudehub.WithCause(claudehub.Invalid, err, "%s cannot be read. Pair this Runner again with claude-hub-runner pair.", pairingPath(dir))
	}
	return p, nil
}

func (c *cli) keychain(ctx context.Context) (*keychain.Store, string, error) {
	dir, err := c.stateDir()
	if err != nil {
		return nil, "", err
	}
	store, err := keychain.Open(ctx, keychain.Options{Dir: filepath.Join(dir, "keys"), Scope: dir})
	return store, dir, err
}

type pairCmd struct {
	Hub string `help:"The Hub's address, like https://hub.example.org." required:""`
}

func (p *pairCmd) Run(ctx context.Context, c *cli) error {
	store, dir, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	line, err := readLine(os.Stdin)
	if err != nil {
		return err
	}
	token, err := claudehub.ParseToken(claudehub.RunnerToken, line)
	if err != nil {
		return claudehub.Errorf(claudehub.Invalid, "That is not a Runner token. It starts with chr_; claude-hub runner add prints one.")
	}
	if _, err := runner.NewHub(p.Hub, token); err != nil {
		return err
	}
	if err := store.Set(ctx, runnerTokenName, token.Reveal()); err != nil {
		return err
	}
	body, err := json.Marshal(pairing{Hub: p.Hub})
	if err != nil {
		return err
	}
	if err := os.WriteFile(pairingPath(dir), body, 0o600); err != nil {
		return fmt.Errorf("save the pairing: %w", err)
	}
	fmt.Fprintf(os.Stderr, "Paired with %s.\n", p.Hub)
	return nil
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

type pairedCmd struct{}

func (*pairedCmd) Run(ctx context.Context, c *cli) error {
	store, dir, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	p, err := readPairing(dir)
	if err != nil {
		return err
	}
	if _, err := runnerToken(ctx, store); err != nil {
		return err
	}
	fmt.Println(p.Hub)
	return nil
}

func runnerToken(ctx context.Context, store *keychain.Store) (claudehub.Token, error) {
	raw, err := store.Get(ctx, runnerTokenName)
	if err != nil {
		return claudehub.Token{}, err
	}
	token, err := claudehub.ParseToken(claudehub.RunnerToken, raw)
	if err != nil {
		return token, claudehub.Errorf(claudehub.NotFound, "This Runner has no token for its Hub. Pair it again with claude-hub-runner pair.")
	}
	return token, nil
}
