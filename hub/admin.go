package hub

import (
	"context"
	"log/slog"

	"claude-hub/hub/fleet"
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

// reached is how the Hub is reached; url, when it is not empty, is the caller's word for it.
func (a *Admin) reached(url string) (Running, error) {
	r, known := LastRunning(a.cfg.Data)
	if url != "" {
		r.URL = url
	} else if !known {
		return r, claudehub.Errorf(claudehub.Invalid,
			"It is not known where the Hub with the data directory %s is reached, since it has not run yet. Start it, or say it with --public-url.", a.cfg.Data)
	}
	return r, nil
}

// SignInLink makes a link that signs the local person in, once. Without a URL it is the one that the Hub last had.
func (a *Admin) SignInLink(ctx context.Context, url string) (string, error) {
	r, err := a.reached(url)
	if err != nil {
		return "", err
	}
	if r.Mode == modeGitHub {
		return "", claudehub.Errorf(claudehub.Invalid, "People sign in to this Hub with GitHub, at %s, and not by links. "+
			"While it has no admin, `claude-hub setup-code` prints the code that makes one.", r.URL)
	}
	t, err := a.parts.fleet.SignInLink(ctx)
	if err != nil {
		return "", err
	}
	return signInLink(r.URL, t), nil
}

// SetupCode makes a code that makes its holder the first admin, and says where to enter it. The one before is good no more.
func (a *Admin) SetupCode(ctx context.Context, url string) (Setup, error) {
	r, err := a.reached(url)
	if err != nil {
		return Setup{}, err
	}
	if r.Mode != modeGitHub {
		return Setup{}, claudehub.Errorf(claudehub.Invalid, "This Hub is in local mode, where the one person is admin. `claude-hub sign-in-link` prints a link to sign in by.")
	}
	code, made, err := a.parts.fleetOfGitHub().NewSetupCode(ctx)
	switch {
	case err != nil:
		return Setup{}, err
	case !made:
		return Setup{}, claudehub.Errorf(claudehub.Conflict, "This Hub has an admin already. Admins make others admin, on the page of people at %s.", r.URL)
	}
	return setupAt(r.URL, code), nil
}

// AddRunner enrols a Runner of the local person.
func (a *Admin) AddRunner(ctx context.Context, name string) (claudehub.Token, error) {
	p, err := a.localPerson(ctx)
	if err != nil {
		return claudehub.Token{}, err
	}
	_, t, err := a.parts.fleet.AddRunner(ctx, p, name)
	return t, err
}

// NewRunnerToken makes another token for a Runner of the local person; the old one is good no more.
func (a *Admin) NewRunnerToken(ctx context.Context, name string) (claudehub.Token, error) {
	p, err := a.localPerson(ctx)
	if err != nil {
		return claudehub.Token{}, err
	}
	_, t, err := a.parts.fleet.NewRunnerToken(ctx, p, name)
	return t, err
}

func (a *Admin) localPerson(ctx context.Context) (claudehub.PersonID, error) {
	if r, _ := LastRunning(a.cfg.Data); r.Mode == modeGitHub {
		return "", claudehub.Errorf(claudehub.Invalid, "A Runner of this Hub belongs to a person who signs in with GitHub, and that person pairs it: "+
			"run `claude-hub-runner pair --hub %s` on the Runner's machine.", r.URL)
	}
	p, err := a.parts.fleet.LocalPerson(ctx)
	return p.ID, err
}

// besideGitHub makes a fleet know that people sign in with GitHub. Beside a Hub nobody asks GitHub anything, and this
// could not.
type besideGitHub struct{ fleet.GitHub }

func (p *parts) fleetOfGitHub() *fleet.Fleet {
	return p.withOptions(fleet.Options{GitHub: besideGitHub{}})
}
