package rig

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

//go:embed shell.sh
var shell []byte

// Shell puts the shell that takes Claude Code's place where a Runner or a tmux can start it.
func (r *Rig) Shell() (string, error) {
	path := filepath.Join(r.Home, "shell.sh")
	return path, os.WriteFile(path, shell, 0o700)
}

// StartShellRunner starts a Runner whose Sessions are plain shells.
func (r *Rig) StartShellRunner(ctx context.Context) error {
	path, err := r.Shell()
	if err != nil {
		return err
	}
	return r.StartRunner(ctx, "", "--claude", path)
}

// Runner is the one Runner as the Hub knows it.
func (r *Rig) Runner(ctx context.Context) (claudehub.Runner, error) {
	var list struct{ Items []claudehub.Runner }
	if err := r.Get(ctx, "/api/runners", &list); err != nil {
		return claudehub.Runner{}, err
	}
	if len(list.Items) == 0 {
		return claudehub.Runner{}, errors.New("the Hub knows no Runner")
	}
	return list.Items[0], nil
}

// AwaitRunner waits until the Runner is as wanted.
func (r *Rig) AwaitRunner(ctx context.Context, wanted func(claudehub.Runner) bool) (claudehub.Runner, error) {
	for {
		runner, err := r.Runner(ctx)
		if err != nil || wanted(runner) {
			return runner, err
		}
		select {
		case <-ctx.Done():
			return runner, fmt.Errorf("the Runner's link is %s: %w: %s", runner.Link.State, ctx.Err(), r.Log("runner"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// NewSession makes a Session with an empty workspace and waits until it is awake.
func (r *Rig) NewSession(ctx context.Context, title, prompt string) (claudehub.Session, error) {
	runner, err := r.AwaitRunner(ctx, func(m claudehub.Runner) bool { return m.Link.State == claudehub.LinkUp })
	if err != nil {
		return claudehub.Session{}, err
	}
	var s claudehub.Session
	err = r.Post(ctx, "/api/sessions", map[string]any{
		"runner": runner.ID, "title": title, "source": claudehub.Source{}, "model": "default", "effort": "default", "prompt": prompt,
	}, &s)
	if err != nil {
		return s, err
	}
	return r.Await(ctx, s.ID, Awake)
}

// Awake tells that a Session has come to its prompt.
func Awake(s claudehub.Session) bool { return s.Observed.Phase == claudehub.PhaseAwake }

// Asleep tells that a Session's Sandbox has been stopped.
func Asleep(s claudehub.Session) bool { return s.Observed.Phase == claudehub.PhaseAsleep }

// AddRunners makes many Runner tokens, in the database beside the running Hub.
func (r *Rig) AddRunners(ctx context.Context, n int) ([]claudehub.Token, error) {
	admin, err := hub.OpenAdmin(ctx, hub.Store{Data: filepath.Join(r.Home, "hub")}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	tokens := make([]claudehub.Token, n)
	for i := range tokens {
		if tokens[i], err = admin.AddRunner(ctx, fmt.Sprintf("runner-%04d", i)); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
