package fleet

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	sightFresh  = 10 * time.Minute // GitHub's word on what a person sees is taken so long without asking again
	sightKept   = 24 * time.Hour   // and so long when GitHub cannot be asked
	sightWait   = 5 * time.Second  // for all questions that one request needs
	sightPause  = 15 * time.Second // after an outage nobody waits for GitHub
	sightAtOnce = 8
	maxPauses   = 10_000
	sightMost   = 50 // repositories asked about for one request; the others at the next
)

// Sighter is asked whether the holder of a token sees a repository. An error says that it cannot be told.
type Sighter interface {
	CanSee(ctx context.Context, token github.Token, owner, repo string) (bool, error)
}

// sights is what is asked of GitHub about who sees what.
type sights struct {
	ask  Sighter // nil: there is no GitHub, and nobody sees anything
	host string  // where its repositories are cloned from

	mu    sync.Mutex
	pause map[sightKey]time.Time // until then that is not asked again
	open  map[sightKey]*question // that are being asked
}

type sightKey struct {
	person claudehub.PersonID
	repo   string
}

// question is one that several may wait for.
type question struct {
	done chan struct{}
	sees bool
	err  error
}

func newSights(ask Sighter) *sights {
	s := &sights{ask: ask, host: "github.com", pause: map[sightKey]time.Time{}, open: map[sightKey]*question{}}
	if h, ok := ask.(interface{ Host() string }); ok {
		s.host = h.Host()
	}
	return s
}

// repoHere names the repository of a source at the Hub's GitHub: "owner/name" in small letters.
func (f *Fleet) repoHere(src claudehub.Source) (repo string, ok bool) {
	host, repo, _ := strings.Cut(claudehub.RepoOf(src), "/")
	owner, name, _ := strings.Cut(repo, "/")
	return repo, f.sights.ask != nil && strings.TrimPrefix(host, "www.") == f.sights.host && github.ValidRepo(owner, name)
}

// saw tells what GitHub last said of repositories, if that was not too long ago.
func (f *Fleet) saw(ctx context.Context, q store.Q, p claudehub.PersonID, repos []string) (map[string]bool, error) {
	known, err := q.Sights(ctx, p, repos)
	out := map[string]bool{}
	for repo, s := range known {
		out[repo] = s.Sees && f.since(s.Checked) < sightKept
	}
	return out, err
}

// since is how long ago something was; what lies ahead of the clock is from before it was set back, and long ago.
func (f *Fleet) since(t time.Time) time.Duration {
	d := f.now().Sub(t)
	if d < 0 {
		return sightKept
	}
	return d
}

// seesNow tells what a person sees, and asks GitHub about what is not known or old. What cannot be told stays as it was, for
// a day; what was never told is not seen.
func (f *Fleet) seesNow(ctx context.Context, q store.Q, p claudehub.PersonID, repos []string) (map[string]bool, error) {
	known, err := q.Sights(ctx, p, repos)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	var ask []string
	for _, repo := range repos {
		s, ok := known[repo]
		age := f.since(s.Checked)
		out[repo] = ok && s.Sees && age < sightKept
		if (!ok || age >= sightFresh) && len(ask) < sightMost {
			ask = append(ask, repo)
		}
	}
	if len(ask) == 0 || f.sights.ask == nil {
		return out, nil
	}
	token, ok, err := f.githubToken(ctx, q, p)
	if err != nil || !ok || !token.Expires().IsZero() && !token.Expires().After(f.now()) {
		return out, err // nobody can be asked with it; an ended token is renewed when the person is checked the next time
	}
	answers := f.askSights(ctx, p, token, ask)
	for repo, sees := range answers {
		out[repo] = sees
	}
	return out, nil
}

// askSights asks several questions side by side, and keeps the answers. Those that cannot be told are not among them.
func (f *Fleet) askSights(ctx context.Context, p claudehub.PersonID, token github.Token, repos []string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, sightWait)
	defer cancel()
	var mu sync.Mutex
	out := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(sightAtOnce)
	for _, repo := range repos {
		g.Go(func() error {
			sees, err := f.askSight(ctx, sightKey{p, repo}, token)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				out[repo] = sees
			}
			return nil
		})
	}
	_ = g.Wait() // no part fails: what cannot be told is left out
	return out
}

// askSight asks GitHub once for all who ask the same at a time.
func (f *Fleet) askSight(ctx context.Context, k sightKey, token github.Token) (bool, error) {
	one, mine := f.sights.join(k, f.now())
	if !mine {
		select {
		case <-one.done:
			return one.sees, one.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	// Others may wait for it when the one who asked first has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sightWait)
	defer cancel()
	owner, name, _ := strings.Cut(k.repo, "/")
	one.sees, one.err = f.sights.ask.CanSee(ctx, token, owner, name)
	if one.err == nil {
		f.keepSight(ctx, k, one.sees)
	} else {
		f.log.Warn("GitHub cannot be asked who sees a repository", "err", one.err)
	}
	f.sights.answer(k, one, f.now())
	return one.sees, one.err
}

// join finds the question that is being asked, or makes it the caller's to ask and answer.
func (s *sights) join(k sightKey, now time.Time) (one *question, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[k]; one != nil {
		return one, false
	}
	one = &question{done: make(chan struct{})}
	if now.Before(s.pause[k]) {
		one.err = errSightPause
		close(one.done)
		return one, false
	}
	delete(s.pause, k)
	s.open[k] = one
	return one, true
}

func (s *sights) answer(k sightKey, one *question, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, k)
	if one.err != nil {
		if len(s.pause) >= maxPauses {
			clear(s.pause)
		}
		s.pause[k] = now.Add(sightPause)
	}
	close(one.done)
}

var errSightPause = claudehub.Errorf(claudehub.Unavailable, "GitHub did not answer a moment ago.")

func (f *Fleet) keepSight(ctx context.Context, k sightKey, sees bool) {
	err := f.st.Write(ctx, func(q store.Q) error {
		return q.PutSight(ctx, k.person, k.repo, store.Sight{Sees: sees, Checked: f.now()})
	})
	if err != nil && ctx.Err() == nil {
		f.log.Warn("what GitHub says of a repository is not stored", "err", err)
	}
}
