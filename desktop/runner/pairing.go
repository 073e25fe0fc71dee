package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

// Keys keep secrets by name, each write on disk when it returns. *keychain.Store is one.
type Keys interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string) error
	Delete(ctx context.Context, name string) error
}

// Names of the Runner's tokens among the Keys. The next one is tried first, and the other when it is refused.
const (
	tokenName     = "runner-token"
	nextTokenName = "runner-token-next"
)

// Pairing is what is known of the Hub beside the token for it. It holds no secret.
type Pairing struct {
	Hub string `json:"hub"`
	// Runner is this machine's id there, Name what it is called, and Login whose it is; empty when the token came by hand.
	Runner string `json:"runner,omitempty"`
	Name   string `json:"name,omitempty"`
	Login  string `json:"login,omitempty"`
	// Since is when the token was first used; zero when that is not known.
	Since time.Time `json:"since,omitzero"`
	// Unpaired is a pairing that was given up. Its Runner id is offered when the same Hub is paired with again.
	Unpaired bool `json:"unpaired,omitempty"`
}

// Refusal is the Hub's word that the Runner's token is not good any more.
type Refusal struct {
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	Token string    `json:"token"` // the beginning of its hash: a refusal of an earlier token says nothing
}

// PairingStore keeps the Pairing in the state folder and its tokens in the Keys. Several processes may work on it: the
// Runner that rotates its token, and a person who pairs anew.
type PairingStore struct {
	dir  string
	keys Keys
}

// NewPairingStore opens nothing yet.
func NewPairingStore(dir string, keys Keys) *PairingStore { return &PairingStore{dir, keys} }

func (p *PairingStore) path() string    { return filepath.Join(p.dir, "hub.json") }
func (p *PairingStore) refusal() string { return filepath.Join(p.dir, "refused.json") }

// Last is the Pairing as it was left, given up or not; the zero one when there never was one.
func (p *PairingStore) Last() (Pairing, error) {
	var v Pairing
	err := readJSON(p.path(), &v)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, claudehub.WithCause(claudehub.Invalid, err, "%s cannot be read. Pair this Runner again with claude-hub-runner pair.", p.path())
	}
	return v, nil
}

// Read is the Pairing; one that was given up is not there.
func (p *PairingStore) Read() (Pairing, error) {
	v, err := p.Last()
	if err == nil && (v.Hub == "" || v.Unpaired) {
		err = claudehub.Errorf(claudehub.NotFound, "This Runner is not paired with a Hub. Pair it with claude-hub-runner pair --hub URL.")
	}
	return v, err
}

// Refused is the Hub's last word on the token that is kept now, if that was a refusal.
func (p *PairingStore) Refused(ctx context.Context) (Refusal, bool, error) {
	var v Refusal
	err := readJSON(p.refusal(), &v)
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("read the Hub's last word: %w", err)
	}
	good, next, err := p.tokens(ctx)
	return v, err == nil && (v.Token == mark(good) || v.Token == mark(next)), err
}

// Check tells that there is a token for the Hub.
func (p *PairingStore) Check(ctx context.Context) error {
	_, _, err := p.tokens(ctx)
	return err
}

// mark names a token without giving it away.
func mark(t claudehub.Token) string { return t.Hash()[:16] }

// tokens are the one that is known to work, and the next; one of them may be missing.
func (p *PairingStore) tokens(ctx context.Context) (good, next claudehub.Token, err error) {
	for name, into := range map[string]*claudehub.Token{tokenName: &good, nextTokenName: &next} {
		raw, err := p.keys.Get(ctx, name)
		if err != nil {
			return good, next, err
		}
		if t, err := claudehub.ParseToken(claudehub.RunnerToken, raw); err == nil {
			*into = t
		}
	}
	if good.IsZero() && next.IsZero() {
		return good, next, claudehub.Errorf(claudehub.NotFound, "This Runner has no token for its Hub. Pair it again with claude-hub-runner pair.")
	}
	return good, next, nil
}

// Keep takes up a Pairing with its token in place of the one before. A kill in between leaves the old one, the new one, or
// none where the Hub is another: a token never goes to a Hub that it is not for.
func (p *PairingStore) Keep(ctx context.Context, v Pairing, token claudehub.Token) error {
	return p.locked(ctx, func() error {
		old, err := p.Last()
		if err != nil || old.Hub != v.Hub {
			if err := p.deleteTokens(ctx); err != nil {
				return err
			}
		}
		if err := writeJSON(p.path(), v); err != nil {
			return err
		}
		return errors.Join(p.promote(ctx, token), removeFile(p.refusal()))
	})
}

// promote makes a token the one that is kept. Until it is, it stands beside the old one and is tried first.
func (p *PairingStore) promote(ctx context.Context, token claudehub.Token) error {
	for _, name := range []string{nextTokenName, tokenName} {
		if err := p.keys.Set(ctx, name, token.Reveal()); err != nil {
			return err
		}
	}
	return p.keys.Delete(ctx, nextTokenName)
}

func (p *PairingStore) deleteTokens(ctx context.Context) error {
	return errors.Join(p.keys.Delete(ctx, nextTokenName), p.keys.Delete(ctx, tokenName))
}

// Forget gives the Pairing up: its tokens are gone, and nothing else is.
func (p *PairingStore) Forget(ctx context.Context) error {
	return p.locked(ctx, func() error {
		v, err := p.Read()
		if err != nil {
			return err
		}
		v.Unpaired = true
		return errors.Join(p.deleteTokens(ctx), writeJSON(p.path(), v), removeFile(p.refusal()))
	})
}

// stamp changes when the Pairing does.
func (p *PairingStore) stamp() string {
	info, err := os.Stat(p.path())
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

// lockTime bounds the wait for another process's work on the Pairing: each question to a keychain has a limit of its own.
const lockTime = time.Minute

// locked does f while no other process works on the Pairing.
func (p *PairingStore) locked(ctx context.Context, f func() error) error {
	file, err := os.OpenFile(filepath.Join(p.dir, "pairing.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the pairing: %w", err)
	}
	defer file.Close() // and with it the lock
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock the pairing: %w", err)
		}
		newSignal().wait(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return claudehub.WithCause(claudehub.Unavailable, ctx.Err(), "Another process is at this Runner's pairing. Try again.")
		}
	}
}
