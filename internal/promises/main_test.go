//go:build linux

package promises_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/claude/claudetest"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("CLAUDE_HUB_LOG_LEVEL", "debug"); err != nil { // what is not logged at any level is not logged
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	if err := closeScene(); err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// bin is where the Makefile builds the programs.
func bin() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("these tests run inside the module")
		}
		dir = filepath.Dir(dir)
	}
	for _, name := range []string{"claude-hub", "claude-hub-runner", "claude-hub-guest", "standin-anthropic"} {
		if _, err := os.Stat(filepath.Join(dir, "bin", name)); err != nil {
			return "", fmt.Errorf("bin/%s is not built: run make build, then these tests", name)
		}
	}
	return filepath.Join(dir, "bin"), nil
}

// scene is a Hub, a Runner and a Session with the real Claude Code, which has had two Turns, one with a tool, and a nap
// in between.
type scene struct {
	*rig.Rig
	wire    *recorder
	session claudehub.SessionID
	more    map[string]string // credentials that were made here
}

// Secrets are all credentials of the scene, by what they are.
func (s *scene) Secrets() map[string]string {
	all := s.Rig.Secrets()
	maps.Copy(all, s.more)
	return all
}

// title is looked for where the Hub must have it: it proves that a search sees what is there.
const title = "A title that is found wherever the Hub keeps what it knows"

// inTheBox is what the Creator typed and did not send.
const inTheBox = "typed-and-not-sent"

var (
	once     sync.Once
	shared   *scene
	sceneErr error
)

func theScene(t *testing.T) *scene {
	t.Helper()
	once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		shared, sceneErr = newScene(ctx, claudetest.Program(t))
		if sceneErr == nil {
			sceneErr = shared.play(ctx)
		}
	})
	if sceneErr != nil {
		log := ""
		if shared != nil && shared.Rig != nil {
			log = shared.Log("runner")
		}
		t.Fatalf("%v\n%s", sceneErr, log)
	}
	return shared
}

func closeScene() error {
	if shared == nil {
		return nil
	}
	return shared.close()
}

// newScene starts the programs, with a recorder between Hub and Runner.
func newScene(ctx context.Context, claude string) (*scene, error) {
	dir, err := bin()
	if err != nil {
		return nil, err
	}
	s := &scene{more: map[string]string{}}
	if s.Rig, err = rig.New(ctx, dir); err != nil {
		return s, err
	}
	if s.wire, err = newRecorder(ctx, s.URL); err != nil {
		return s, err
	}
	s.Via = "http://" + s.wire.Addr()
	if err := s.StartRunner(ctx, filepath.Join(filepath.Dir(dir), "frontend/e2e/scripts/chat.json"), "--claude", claude); err != nil {
		return s, err
	}
	// The stand-in has read it; what is left on the disk from here on is the product's doing.
	return s, os.Remove(filepath.Join(s.Home, "token"))
}

func (s *scene) close() error {
	var errs []error
	if s.Rig != nil {
		errs = append(errs, s.Rig.Close()) //nolint:staticcheck // the scene has another Close beside it
	}
	if s.wire != nil {
		errs = append(errs, s.wire.Close())
	}
	return errors.Join(errs...)
}

func (s *scene) play(ctx context.Context) error {
	made, err := s.NewSession(ctx, title, "Please run a tool.")
	if err != nil {
		return err
	}
	s.session = made.ID
	if err := s.prompts(ctx, claudehub.PromptDone); err != nil {
		return err
	}
	if err := s.token(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		verb string
		done func(claudehub.Session) bool
	}{{"sleep", rig.Asleep}, {"wake", rig.Awake}} {
		if err := s.Post(ctx, s.path(step.verb), map[string]any{}, nil); err != nil {
			return err
		}
		if _, err := s.Await(ctx, s.session, step.done); err != nil {
			return err
		}
	}
	if err := s.Post(ctx, s.path("prompts"), map[string]any{"text": "And a second prompt."}, nil); err != nil {
		return err
	}
	if err := s.prompts(ctx, claudehub.PromptDone); err != nil {
		return err
	}
	return s.typeSomething(ctx)
}

// token makes an API token that only reads, and reads with it.
func (s *scene) token(ctx context.Context) error {
	var made struct{ Token string }
	err := s.Post(ctx, "/api/tokens", map[string]any{"name": "a script", "scopes": []claudehub.Scope{claudehub.ScopeRead}}, &made)
	if err != nil {
		return err
	}
	s.more["API token"] = made.Token
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/sessions", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+made.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("an API token that was made opens nothing: %s", resp.Status)
	}
	return nil
}

func (s *scene) typeSomething(ctx context.Context) error {
	terminal, err := s.Open(ctx, s.session, 100, 30)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		_ = terminal.Follow(ctx) // ended by us
	}()
	defer func() {
		cancel()
		<-followed
	}()
	if err := terminal.Sees(ctx, "And a second prompt."); err != nil {
		return err
	}
	if err := terminal.Keys(ctx, inTheBox); err != nil {
		return err
	}
	return terminal.Sees(ctx, inTheBox)
}

func (s *scene) path(what string) string { return "/api/sessions/" + string(s.session) + "/" + what }

func (s *scene) list(ctx context.Context) ([]claudehub.Prompt, error) {
	var list struct{ Items []claudehub.Prompt }
	err := s.Get(ctx, s.path("prompts"), &list)
	return list.Items, err
}

// prompts waits until all prompts are in a state.
func (s *scene) prompts(ctx context.Context, state claudehub.PromptState) error {
	for {
		all, err := s.list(ctx)
		if err != nil {
			return err
		}
		waiting := ""
		for _, p := range all {
			if p.State != state {
				waiting = fmt.Sprintf("prompt %q is %s: %s", p.Text, p.State, p.Why)
			}
		}
		if waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", waiting, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
