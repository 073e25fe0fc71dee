// Package keychain keeps the few secrets of a Runner: the setup token and the Runner token.
//
// They are in the desktop's Secret Service where one answers, else in files of mode 0600 in a folder of mode 0700. Which
// of the two was chosen is written down with the first secret and stays: a Runner that is started later without a desktop
// says that it cannot reach the keychain, and does not quietly look elsewhere.
//
// A secret's value is in no error and no log line of this package.
package keychain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
)

// Options say where secrets are kept.
type Options struct {
	// Dir is the folder for files, made when missing. It also holds the name of the kind that was chosen.
	Dir string
	// Scope keeps Runners of one person apart in a Secret Service that they share.
	Scope string
}

// backend is one kind of place. Get answers "" for what is not there.
type backend interface {
	get(ctx context.Context, name string) (string, error)
	set(ctx context.Context, name, value string) error
	remove(ctx context.Context, name string) error
	where() string
}

// Store keeps secrets by name. It is safe for concurrent use.
type Store struct {
	dir  string
	kind string
	b    backend
}

// The kinds, as they are written down.
const (
	kindFile   = "file"
	kindSecret = "secret-service"
	kindName   = "kind"
)

// askTime bounds each conversation with the Secret Service.
const askTime = 10 * time.Second

// Open finds the place for secrets. It writes no secret, and asks nobody to unlock anything.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The folder for tokens, %s, cannot be made.", o.Dir)
	}
	if err := private(o.Dir, fs.ModeDir|0o700); err != nil {
		return nil, err
	}
	chosen, err := os.ReadFile(filepath.Join(o.Dir, kindName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The folder for tokens, %s, cannot be read.", o.Dir)
	}
	kind := strings.TrimSpace(string(chosen))
	switch kind {
	case kindFile:
		return &Store{o.Dir, kind, files{o.Dir}}, nil
	case "", kindSecret:
		service, err := openService(ctx, o.Scope)
		if err == nil {
			return &Store{o.Dir, kindSecret, service}, nil
		}
		if kind == kindSecret {
			return nil, claudehub.WithCause(claudehub.Unavailable, err,
				"This Runner's tokens are in the desktop's keychain, which does not answer. Sign in to the desktop and unlock it, then try again.")
		}
		return &Store{o.Dir, kindFile, files{o.Dir}}, nil
	default:
		return nil, claudehub.Errorf(claudehub.Invalid, "%s names an unknown kind of keychain. Remove it and set the tokens again.", filepath.Join(o.Dir, kindName))
	}
}

// Where says in words where secrets are kept.
func (s *Store) Where() string { return s.b.where() }

var validName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)

// Get returns a secret, "" when there is none by that name.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	if !validName.MatchString(name) {
		return "", claudehub.Errorf(claudehub.Invalid, "%q is not a secret's name.", name)
	}
	return s.b.get(ctx, name)
}

// Set keeps a secret in place of an older one. It is on disk when Set returns.
func (s *Store) Set(ctx context.Context, name, value string) error {
	if !validName.MatchString(name) || value == "" {
		return claudehub.Errorf(claudehub.Invalid, "%q is not a secret's name, or its value is empty.", name)
	}
	if err := s.b.set(ctx, name, value); err != nil {
		return err
	}
	return writeWhole(s.dir, kindName, s.kind+"\n")
}

// Delete forgets a secret; one that is not there is no error.
func (s *Store) Delete(ctx context.Context, name string) error {
	if !validName.MatchString(name) {
		return claudehub.Errorf(claudehub.Invalid, "%q is not a secret's name.", name)
	}
	return s.b.remove(ctx, name)
}
