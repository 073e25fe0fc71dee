package hub

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
)

// SecretEnv is the environment's name for the client secret. It is no flag: what a command line holds, every user of the
// machine can read.
const SecretEnv = "CLAUDE_HUB_GITHUB_CLIENT_SECRET"

// GitHub says at which GitHub people sign in, and who may. Without it the Hub is in local mode: this machine prints links.
type GitHub struct {
	ClientID         string        `name:"github-client-id" group:"Sign-in by GitHub" help:"Client id of the OAuth application at GitHub. Without one, people sign in by links that this machine prints (local mode)." env:"CLAUDE_HUB_GITHUB_CLIENT_ID" placeholder:"ID"`
	ClientSecretFile string        `name:"github-client-secret-file" group:"Sign-in by GitHub" help:"File with the application's client secret, readable by its owner alone. Or put the secret itself in the environment variable CLAUDE_HUB_GITHUB_CLIENT_SECRET." type:"path" env:"CLAUDE_HUB_GITHUB_CLIENT_SECRET_FILE" placeholder:"FILE"`
	GitHubURL        string        `name:"github-url" group:"Sign-in by GitHub" help:"Address of a GitHub Enterprise; github.com when empty." env:"CLAUDE_HUB_GITHUB_URL" placeholder:"URL"`
	Allow            string        `name:"allow" group:"Sign-in by GitHub" help:"Who may sign in: login:NAME, org:NAME and team:ORG/TEAM, apart by commas or spaces." env:"CLAUDE_HUB_ALLOW" placeholder:"LIST"`
	Recheck          time.Duration `name:"recheck" group:"Sign-in by GitHub" help:"How often GitHub is asked again whether a person still may." default:"15m" env:"CLAUDE_HUB_RECHECK" placeholder:"TIME"`

	// ClientSecret comes from the environment alone.
	ClientSecret Secret `kong:"-"`
}

// Secret is a text that never prints itself.
type Secret struct{ text string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text} }

// String hides the secret.
func (s Secret) String() string {
	if s.text == "" {
		return "(none)"
	}
	return "(secret)"
}

// GoString hides the secret from %#v too.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Bounds of how often people are looked at again: more often would be too much for GitHub, and less often no check.
const (
	minRecheck = time.Second
	maxRecheck = 24 * time.Hour
	maxSecret  = 4 << 10
)

// Local tells whether people sign in by links that this machine prints.
func (g GitHub) Local() bool { return g.ClientID == "" }

// check refuses half of a sign-in by GitHub, and says which half is missing.
func (g GitHub) check() error {
	secret := g.ClientSecretFile != "" || g.ClientSecret.text != ""
	if g.Local() && !secret && g.Allow == "" && g.GitHubURL == "" {
		return nil
	}
	var missing []string
	if g.ClientID == "" {
		missing = append(missing, "the application's client id (--github-client-id)")
	}
	if !secret {
		missing = append(missing, "its secret (--github-client-secret-file, or "+SecretEnv+" in the environment)")
	}
	if strings.TrimSpace(g.Allow) == "" {
		missing = append(missing, "who may sign in (--allow)")
	}
	switch {
	case len(missing) > 0:
		return claudehub.Errorf(claudehub.Invalid, "Sign-in by GitHub is set up by half. Missing: %s.", strings.Join(missing, "; "))
	case g.ClientSecretFile != "" && g.ClientSecret.text != "":
		return claudehub.Errorf(claudehub.Invalid, "The client secret is given twice: by --github-client-secret-file and by %s in the environment. Keep one of them.", SecretEnv)
	case g.Recheck < minRecheck || g.Recheck > maxRecheck:
		return claudehub.Errorf(claudehub.Invalid, "The time between two checks at GitHub (--recheck) is from 1s to 24h, such as 15m.")
	}
	if _, err := github.ParseAllowList(g.Allow); err != nil {
		return claudehub.WithCause(claudehub.Invalid, nil, "%s It is what --allow says.", claudehub.MessageOf(err))
	}
	// All but the secret, which may be in a file that is read when the Hub is built.
	if _, err := github.New(github.Config{BaseURL: g.GitHubURL, ClientID: g.ClientID, ClientSecret: "unread"}); err != nil {
		return claudehub.WithCause(claudehub.Invalid, nil, "%s It is what --github-client-id and --github-url say.", claudehub.MessageOf(err))
	}
	return nil
}

// client asks GitHub, for people that the list allows; nil in local mode.
func (g GitHub) client() (*github.Client, github.AllowList, error) {
	if g.Local() {
		return nil, github.AllowList{}, nil
	}
	allow, err := github.ParseAllowList(g.Allow)
	if err != nil {
		return nil, allow, err
	}
	secret := g.ClientSecret.text
	if g.ClientSecretFile != "" {
		if secret, err = readSecret(g.ClientSecretFile); err != nil {
			return nil, allow, err
		}
	}
	c, err := github.New(github.Config{BaseURL: g.GitHubURL, ClientID: g.ClientID, ClientSecret: secret, Scopes: allow.Scopes()})
	return c, allow, err
}

// readSecret reads a file that its owner alone can read. No error has anything of what is in it.
func readSecret(path string) (string, error) {
	unreadable := func(err error) error {
		why := "cannot be read"
		switch {
		case errors.Is(err, fs.ErrNotExist):
			why = "is not there"
		case errors.Is(err, fs.ErrPermission):
			why = "cannot be read: permission is denied. It has to belong to the user that the Hub runs as"
		}
		return claudehub.WithCause(claudehub.Invalid, err, "The file with GitHub's client secret, %s, %s.", path, why)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return "", claudehub.Errorf(claudehub.Invalid, "The client secret's file %s is no file. Write the secret to a file of its own.", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", claudehub.Errorf(claudehub.Invalid, "Others can read GitHub's client secret in %s (its mode is %04o). Run chmod 600 on it; "+
			"if others may have read it, make another secret at GitHub first.", path, mode)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", unreadable(err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" || len(b) > maxSecret || strings.ContainsAny(text, " \t\r\n") {
		return "", claudehub.Errorf(claudehub.Invalid, "The file %s is to hold GitHub's client secret, alone on one line.", path)
	}
	return text, nil
}
