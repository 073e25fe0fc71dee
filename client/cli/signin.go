package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

const apiToken = claudehub.APITokenKind

// saved is the file that keeps who is signed in where.
type saved struct {
	Current string           `json:"current"`
	Hubs    map[string]entry `json:"hubs"`
}

type entry struct {
	Token     string `json:"token"`
	PlainHTTP bool   `json:"plain_http,omitempty"`
	Own       bool   `json:"own,omitempty"` // made for this sign-in, and used by nobody else
}

func (e *Env) path() string { return filepath.Join(e.Dir, "sign-in.json") }

func (e *Env) load() (saved, error) {
	s := saved{Hubs: map[string]entry{}}
	path := e.path()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return s, claudehub.Errorf(claudehub.Invalid, "Others can read %s, which holds your token. Run: chmod 600 %s", path, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return s, claudehub.WithCause(claudehub.Invalid, err, "The sign-in in %s cannot be read.", path)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, claudehub.WithCause(claudehub.Invalid, err, "The sign-in in %s is damaged. Remove it, then run: claude-hub login", path)
	}
	if s.Hubs == nil {
		s.Hubs = map[string]entry{}
	}
	return s, nil
}

// save writes the file whole or not at all.
func (e *Env) save(s saved) (err error) {
	defer func() {
		if err != nil {
			err = claudehub.WithCause(claudehub.Internal, err, "The sign-in cannot be kept in %s.", e.Dir)
		}
	}()
	if err := os.MkdirAll(e.Dir, 0o700); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(e.Dir, ".sign-in-*") // 0600 from the start
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), e.path())
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func tidy(address string) string { return strings.TrimRight(strings.TrimSpace(address), "/") }

// LoginCmd signs in.
type LoginCmd struct {
	Target
	Format
	WithToken bool `help:"Ask for an API token instead of opening the browser."`
	PlainHTTP bool `name:"plain-http" help:"Allow http:// to a Hub on another machine. Whoever is on the way can read the token."`
}

// Run signs in, once the Hub has taken the token.
func (c *LoginCmd) Run(ctx context.Context, e *Env) error {
	s, err := e.load()
	if err != nil {
		return err
	}
	address := tidy(c.Hub)
	if address == "" {
		address = s.Current
	}
	if address == "" {
		return claudehub.Errorf(claudehub.Invalid, "Say which Hub: claude-hub login --hub https://your-hub.example.org")
	}
	nobody, err := e.client(address, "", c.PlainHTTP)
	if err != nil {
		return err // before anybody types a secret
	}
	defer nobody.Close()
	token, own, err := c.token(ctx, e, nobody)
	if err != nil {
		return err
	}
	cl, err := e.client(address, token, c.PlainHTTP)
	if err != nil {
		return err
	}
	defer cl.Close()
	me, err := cl.Me(ctx)
	if err != nil {
		return err
	}
	s.Current, s.Hubs[address] = address, entry{Token: token, PlainHTTP: c.PlainHTTP, Own: own}
	if err := e.save(s); err != nil {
		return err
	}
	return c.print(e, me, func() error {
		_, err := fmt.Fprintf(e.Out, "Signed in to %s as %s.\n", address, clean(me.Login))
		return err
	})
}

// token gets the token to sign in with, and tells whether it was made for this.
func (c *LoginCmd) token(ctx context.Context, e *Env, hub *client.Client) (token string, own bool, err error) {
	in, tty := terminal(e.In)
	var text string
	switch {
	case tty && e.SignIn != nil && !c.WithToken:
		own = true
		text, err = e.SignIn(ctx, hub, e.Err)
	case tty:
		fmt.Fprintf(e.Err, "API token for %s (make one in the Hub's Settings; it is not shown): ", hub.URL())
		text, err = readSecret(ctx, in)
		fmt.Fprintln(e.Err)
	default:
		text, err = readAll(e.In, 4<<10)
	}
	if err != nil {
		return "", false, err
	}
	t, err := claudehub.ParseToken(apiToken, strings.TrimSpace(text))
	if err != nil {
		return "", false, claudehub.Errorf(claudehub.Invalid, "That is not a whole API token: one starts with %s. Copy all of it.", apiToken)
	}
	return t.Reveal(), own, nil
}

// readSecret reads a line without echo. Interrupted, it gives the terminal back its echo.
func readSecret(ctx context.Context, in *os.File) (string, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", claudehub.WithCause(claudehub.Internal, err, "The terminal cannot hide what is typed.")
	}
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() { // it ends with a line, or with the process: a read of a terminal cannot be taken back
		b, err := term.ReadPassword(int(in.Fd()))
		got <- answer{b, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return "", claudehub.WithCause(claudehub.Invalid, a.err, "No token was typed.")
		}
		return string(a.text), nil
	case <-ctx.Done():
		_ = term.Restore(int(in.Fd()), before)
		return "", ctx.Err()
	}
}

// LogoutCmd signs out.
type LogoutCmd struct {
	Target
	Format
}

// Run ends the token that was made for this sign-in, and forgets it. A token that a person brought is theirs to end: it may be
// in use elsewhere.
func (c *LogoutCmd) Run(ctx context.Context, e *Env) error {
	s, err := e.load()
	if err != nil {
		return err
	}
	address := tidy(c.Hub)
	if address == "" {
		address = s.Current
	}
	in, ok := s.Hubs[address]
	if !ok {
		return claudehub.Errorf(claudehub.NotFound, "You are not signed in there.")
	}
	out := signedOut{Forgot: address}
	if in.Own {
		err := in.end(ctx, e, address)
		if out.Ended = err == nil; err != nil {
			fmt.Fprintf(e.Err, "The Hub did not end the token: %v\n", clean(err.Error()))
		}
	}
	delete(s.Hubs, address)
	if s.Current == address {
		s.Current = ""
	}
	if err := e.save(s); err != nil {
		return err
	}
	return c.print(e, out, func() error {
		after := "It is good until you revoke it in the Hub's Settings."
		if out.Ended {
			after = "It is good for nothing more."
		}
		_, err := fmt.Fprintf(e.Out, "Forgot the token of %s. %s\n", address, after)
		return err
	})
}

// signedOut is what logout prints as JSON.
type signedOut struct {
	Forgot string `json:"forgot"`
	Ended  bool   `json:"ended"` // at the Hub, too
}

// endTime bounds how long a Hub that is away holds up a logout.
const endTime = 10 * time.Second

// end has the Hub end the token. One that it does not know any more has ended.
func (in entry) end(ctx context.Context, e *Env, address string) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	cl, err := e.client(address, in.Token, in.PlainHTTP)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.SignOut(ctx); err != nil && claudehub.CodeOf(err) != claudehub.Unauthenticated {
		return err
	}
	return nil
}
