package keychain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/keybase/dbus"
	"github.com/keybase/go-keychain/secretservice"

	"claude-hub/internal/claudehub"
)

// service keeps secrets in the desktop's Secret Service. The library has no Close and is not safe for concurrent use: one
// service, one caller at a time.
type service struct {
	scope string
	conn  *connection
}

// connection is the process's one connection: each NewService leaves one behind for good.
type connection struct {
	turn    chan struct{} // holds one token: whose turn it is
	service *secretservice.SecretService
	session *secretservice.Session
}

var shared = sync.OnceValues(func() (*connection, error) {
	s, err := secretservice.NewService()
	if err != nil {
		return nil, err
	}
	s.SetSessionOpenTimeout(askTime)
	session, err := s.OpenSession(secretservice.AuthenticationDHAES)
	if err != nil {
		return nil, err
	}
	return &connection{turn: make(chan struct{}, 1), service: s, session: session}, nil
})

var errNoBus = errors.New("there is no session bus")

// hasBus tells whether a session bus is there. The D-Bus library would start one otherwise, of no use to anyone.
func hasBus() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

// openService connects, and sees that the default collection is there and open.
func openService(ctx context.Context, scope string) (*service, error) {
	if !hasBus() {
		return nil, errNoBus
	}
	s := &service{scope: scope}
	err := bounded(ctx, func(context.Context) error {
		conn, err := shared()
		s.conn = conn
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, s.ask(ctx, func(c *connection) error {
		locked, err := c.service.Obj(secretservice.DefaultCollection).GetProperty("org.freedesktop.Secret.Collection.Locked")
		if err != nil {
			return err
		}
		if is, ok := locked.Value().(bool); !ok || is {
			return errors.New("the keychain is locked")
		}
		return nil
	})
}

// bounded runs f, which knows no context, for askTime at the most. f goes on by itself after that: the library has its own
// limits, of half a minute at the longest.
func bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the keychain does not answer: %w", ctx.Err())
	}
}

// ask waits for its turn, then asks.
func (s *service) ask(ctx context.Context, f func(*connection) error) error {
	return bounded(ctx, func(ctx context.Context) error {
		select {
		case s.conn.turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-s.conn.turn }()
		return f(s.conn)
	})
}

func (s *service) where() string { return "the desktop's keychain" }

func (s *service) attributes(name string) secretservice.Attributes {
	return secretservice.Attributes{"application": "claude-hub", "scope": s.scope, "name": name}
}

func (s *service) failed(err error, what, name string) error {
	return claudehub.WithCause(claudehub.Unavailable, err, "The desktop's keychain did not %s %s. Unlock it, then try again.", what, name)
}

func (s *service) find(c *connection, name string) ([]dbus.ObjectPath, error) {
	return c.service.SearchCollection(secretservice.DefaultCollection, s.attributes(name))
}

func (s *service) get(ctx context.Context, name string) (string, error) {
	value := make(chan string, 1)
	err := s.ask(ctx, func(c *connection) error {
		items, err := s.find(c, name)
		if err != nil || len(items) == 0 {
			value <- ""
			return err
		}
		secret, err := c.service.GetSecret(items[0], *c.session)
		if err == nil && secret == nil {
			err = errors.New("the secret could not be decrypted") // the library says so by nil, nil
		}
		value <- string(secret)
		return err
	})
	if err != nil {
		return "", s.failed(err, "give", name)
	}
	return <-value, nil
}

func (s *service) set(ctx context.Context, name, value string) error {
	err := s.ask(ctx, func(c *connection) error {
		secret, err := c.session.NewSecret([]byte(value))
		if err != nil {
			return err
		}
		properties := secretservice.NewSecretProperties("claude-hub: "+name, s.attributes(name))
		_, err = c.service.CreateItem(secretservice.DefaultCollection, properties, secret, secretservice.ReplaceBehaviorReplace)
		return err
	})
	if err != nil {
		return s.failed(err, "take", name)
	}
	return nil
}

func (s *service) remove(ctx context.Context, name string) error {
	err := s.ask(ctx, func(c *connection) error {
		items, err := s.find(c, name)
		for _, item := range items {
			err = errors.Join(err, c.service.DeleteItem(item))
		}
		return err
	})
	if err != nil {
		return s.failed(err, "remove", name)
	}
	return nil
}
