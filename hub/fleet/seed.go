package fleet

import (
	"context"
	"encoding/json"
	"time"

	"claude-hub/hub/devcontainer"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	maxSeeds    = 500 // of one person
	maxSeedPath = 500 // bytes
	// maxSeedText is a Devcontainer as JSON, which may write a byte as six.
	maxSeedText = 6*wire.MaxDevcontainer + 64<<10
)

// FoundSeed is a devcontainer that a Runner found in a clone.
type FoundSeed struct {
	Repo    string    `json:"repo"`
	Path    string    `json:"path" doc:"of devcontainer.json, in the repository"`
	Updated time.Time `json:"updated"`
}

// Seeds lists the devcontainers that a person's Runners found, by repository and path.
func (f *Fleet) Seeds(ctx context.Context, p claudehub.PersonID) ([]FoundSeed, error) {
	all, err := f.st.Read().Seeds(ctx, p)
	out := make([]FoundSeed, len(all))
	for i, s := range all {
		out[i] = FoundSeed{s.Repo, s.Path, s.Updated}
	}
	return out, err
}

// SeedFromRepo makes an Environment's first recipe of what a Runner found in a repository; with an empty path, of what
// stands nearest to its root.
func (f *Fleet) SeedFromRepo(ctx context.Context, p claudehub.PersonID, repo, path string) (devcontainer.Seed, error) {
	repo, err := validRepo(repo)
	if err != nil {
		return devcontainer.Seed{}, err
	}
	none := claudehub.Errorf(claudehub.NotFound, "No devcontainer of %s is known. A Runner finds it when a Session clones the repository.", repo)
	if clip(path, maxSeedPath) != path {
		return devcontainer.Seed{}, none
	}
	s, err := f.st.Read().Seed(ctx, p, repo, path)
	if err != nil {
		return devcontainer.Seed{}, absent(err, none)
	}
	var d wire.Devcontainer
	if err := json.Unmarshal([]byte(s.Body), &d); err != nil {
		return devcontainer.Seed{}, claudehub.WithCause(claudehub.Internal, err, "What is stored of the devcontainer of %s cannot be read.", repo)
	}
	return devcontainer.Read(d)
}

// SeedFrom makes an Environment's first recipe of what a person gave.
func (f *Fleet) SeedFrom(d wire.Devcontainer) (devcontainer.Seed, error) {
	if err := validDevcontainer(d); err != nil {
		return devcontainer.Seed{}, err
	}
	return devcontainer.Read(d)
}

func validDevcontainer(d wire.Devcontainer) error {
	total := len(d.JSON)
	for name, text := range d.Files {
		if len(text) > wire.MaxDevcontainerFile || len(name) > maxSeedPath {
			return claudehub.Errorf(claudehub.TooLarge, "A file of the devcontainer has more than %d KB.", wire.MaxDevcontainerFile>>10)
		}
		total += len(name) + len(text)
	}
	switch {
	case len(d.JSON) > wire.MaxDevcontainerFile || total > wire.MaxDevcontainer:
		return claudehub.Errorf(claudehub.TooLarge, "The devcontainer has %d KB; at most %d KB are read, and %d KB of devcontainer.json.",
			total>>10, wire.MaxDevcontainer>>10, wire.MaxDevcontainerFile>>10)
	case len(d.Path) > maxSeedPath || clip(d.Path, maxSeedPath) != d.Path:
		return claudehub.Errorf(claudehub.Invalid, "The path of the devcontainer is too long, or is not text.")
	}
	return nil
}

// applyDevcontainer keeps what was found, by repository and path: the newest wins.
func (b *batchOfEvents) applyDevcontainer(ctx context.Context, d *decision, e wire.Event) error {
	repo, found, ok := foundDevcontainer(d.s.Source, e.Text)
	if !ok {
		b.f.log.Warn("a Runner sent a devcontainer that is malformed or too large", "runner", b.runner, "session", d.s.ID, "event", e.ID)
		return nil
	}
	body, err := json.Marshal(found)
	if err != nil {
		return err
	}
	at := e.At
	if at.IsZero() || at.After(b.now) {
		at = b.now
	}
	if err := b.q.PutSeed(ctx, store.Seed{Owner: d.s.Creator, Repo: repo, Path: found.Path, Body: string(body), Updated: at}); err != nil {
		return err
	}
	return b.q.PruneSeeds(ctx, d.s.Creator, maxSeeds)
}

// foundDevcontainer reads what a Runner says that it found in a Session's clone.
func foundDevcontainer(source claudehub.Source, text string) (repo string, d wire.Devcontainer, ok bool) {
	repo, err := validRepo(claudehub.RepoOf(source))
	if err != nil || len(text) > maxSeedText || json.Unmarshal([]byte(text), &d) != nil || d.Path == "" || validDevcontainer(d) != nil {
		return "", wire.Devcontainer{}, false
	}
	return repo, d, true
}
