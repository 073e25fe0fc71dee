package hub

import (
	"context"
	"log/slog"

	"claude-hub/internal/claudehub"
)

// Admin does what the owner of the machine may do beside a running Hub, on its database.
type Admin struct {
	cfg   Store
	parts *parts
}

// OpenAdmin opens the database that cfg names. It does not start a Hub.
func OpenAdmin(ctx context.Context, cfg Store, log *slog.Logger) (*Admin, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := prepareData(cfg.Data); err != nil {
		return nil, err
	}
	p, err := openParts(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return &Admin{cfg: cfg, parts: p}, nil
}

// Close closes the database.
func (a *Admin) Close() { a.parts.Close() }

// SignInLink makes a link that signs the local person in, once. Without a URL it is the one that the Hub last had.
func (a *Admin) SignInLink(ctx context.Context, url string) (string, error) {
	if url == "" {
		url = Address(a.cfg.Data)
	}
	if url == "" {
		return "", claudehub.Errorf(claudehub.Invalid,
			"It is not known where the Hub with the data directory %s is reached, since it has not run yet. Start it, or say it with --public-url.", a.cfg.Data)
	}
	t, err := a.parts.fleet.SignInLink(ctx)
	if err != nil {
		return "", err
	}
	return signInLink(url, t), nil
}

// AddRunner enrols a Runner of the local person.
func (a *Admin) AddRunner(ctx context.Context, name string) (claudehub.Token, error) {
	p, err := a.parts.fleet.LocalPerson(ctx)
	if err != nil {
		return claudehub.Token{}, err
	}
	_, t, err := a.parts.fleet.AddRunner(ctx, p.ID, name)
	return t, err
}

// NewRunnerToken makes another token for a Runner of the local person; the old one is good no more.
func (a *Admin) NewRunnerToken(ctx context.Context, name string) (claudehub.Token, error) {
	p, err := a.parts.fleet.LocalPerson(ctx)
	if err != nil {
		return claudehub.Token{}, err
	}
	_, t, err := a.parts.fleet.NewRunnerToken(ctx, p.ID, name)
	return t, err
}
