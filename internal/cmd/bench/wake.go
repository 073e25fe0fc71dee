package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

// lookTime is how often both sides look whether Claude is at its prompt: the Runner's own pace.
const lookTime = 125 * time.Millisecond

// wake measures from asking for it to Claude's prompt, with real Claude Code and its conversation. By hand it is the same
// without Hub and Runner: the same kind of Sandbox with the same mounts is started, tmux in it, claude --resume in that,
// and the same look at the screen decides. The Sandbox's start is inside both.
func (b *bench) wake(ctx context.Context) (results []result, err error) {
	r, done, err := b.rig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	program, err := b.realClaude(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := r.StartRunner(ctx, ""); err != nil {
		return nil, err
	}
	s, err := r.NewSession(ctx, "bench", "Say something short.")
	if err != nil {
		return nil, err
	}
	if err := answeredPrompt(ctx, r, s.ID); err != nil {
		return nil, err
	}
	if err := sleep(ctx, r, s.ID); err != nil {
		return nil, err
	}
	hand, err := b.newByHand(ctx, r, s.ID, program)
	if err != nil {
		return nil, err
	}
	var mine, bare samples
	for i := range b.pick(12, 4) {
		// The first round warms the machine's caches for both.
		into := [2]*samples{&mine, &bare}
		if i == 0 {
			into = [2]*samples{{}, {}}
		}
		if err := wakeOnce(ctx, r, s.ID, into[0]); err != nil {
			return nil, err
		}
		if err := hand.once(ctx, into[1]); err != nil {
			return nil, err
		}
	}
	const base = "Sandbox, tmux and claude --resume by hand"
	ratio := result{Name: "wake-ratio", What: "wake → prompt, over by hand", Value: figure(mine.median() / bare.median()), Unit: "×", Samples: len(mine)}
	return []result{
		timing("wake", "wake → prompt", mine, 50).against(base, bare.median()).noted("the Sandbox's start is inside both"),
		ratio.budget(1.25, 1.05),
	}, nil
}

// realClaude makes the pinned Claude Code the Runner's, fetched once for all runs, and returns the program.
func (b *bench) realClaude(ctx context.Context, r *rig.Rig) (string, error) {
	if own := os.Getenv("CLAUDE_HUB_TEST_CLAUDE"); own != "" {
		return filepath.EvalSymlinks(own)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(home, ".cache", "claude-hub-test")
	out, err := exec.CommandContext(ctx, filepath.Join(b.bin, "claude-hub-runner"), "--dir", kept, "claude").Output()
	if err != nil {
		return "", fmt.Errorf("fetch Claude Code: %w", err)
	}
	if err := os.MkdirAll(r.RunnerDir(), 0o700); err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), os.Symlink(filepath.Join(kept, "claude"), filepath.Join(r.RunnerDir(), "claude"))
}

// answeredPrompt waits until the first prompt's Turn is over.
func answeredPrompt(ctx context.Context, r *rig.Rig, id claudehub.SessionID) error {
	for {
		var list struct{ Items []claudehub.Prompt }
		if err := r.Get(ctx, "/api/sessions/"+string(id)+"/prompts", &list); err != nil {
			return err
		}
		if len(list.Items) == 1 && list.Items[0].State.Final() {
			if list.Items[0].State != claudehub.PromptDone {
				return fmt.Errorf("the first prompt is %s: %s", list.Items[0].State, list.Items[0].Why)
			}
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("the first prompt was not answered: %w", err)
		}
	}
}

func sleep(ctx context.Context, r *rig.Rig, id claudehub.SessionID) error {
	if err := r.Post(ctx, "/api/sessions/"+string(id)+"/sleep", struct{}{}, nil); err != nil {
		return err
	}
	_, err := r.Await(ctx, id, rig.Asleep)
	return err
}

func wakeOnce(ctx context.Context, r *rig.Rig, id claudehub.SessionID, into *samples) error {
	at := time.Now()
	if err := r.Post(ctx, "/api/sessions/"+string(id)+"/wake", struct{}{}, nil); err != nil {
		return err
	}
	if _, err := r.Await(ctx, id, rig.Awake); err != nil {
		return err
	}
	*into = append(*into, time.Since(at))
	return sleep(ctx, r, id)
}

// byHand is the baseline: what a person would script, without Hub and Runner.
type byHand struct {
	backend *bubblewrap.Backend
	spec    sandbox.Spec
	tmux    sandbox.Command
}

const (
	handBox    = sandbox.ID("by-hand")
	handSocket = "/tmp/by-hand"
	handClaude = "/opt/claude-hub/claude/claude"
	handMod    = "/opt/claude-hub/mod"
	handReport = "/opt/claude-hub/report"
)

// newByHand takes a copy of a sleeping Session's files.
func (b *bench) newByHand(ctx context.Context, r *rig.Rig, id claudehub.SessionID, program string) (*byHand, error) {
	dir := filepath.Join(r.Home, "by-hand")
	if out, err := exec.CommandContext(ctx, "cp", "-a", filepath.Join(r.RunnerDir(), "sessions", string(id)), dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy the Session: %w: %s", err, out)
	}
	conversation, err := onlyConversation(filepath.Join(dir, "config", "projects"))
	if err != nil {
		return nil, err
	}
	token, err := claude.ParseToken(r.Token())
	if err != nil {
		return nil, err
	}
	backend, err := bubblewrap.New(bubblewrap.Options{State: filepath.Join(r.Home, "h"), Guest: filepath.Join(b.bin, "claude-hub-guest")})
	if err != nil {
		return nil, err
	}
	argv, env := claude.Launch{
		Program: handClaude, SessionID: conversation, Resume: true, Plugins: []string{handMod + "/hub-report"}, ConfigDir: "/claude",
		SpoolDir: handReport, Token: token, BaseURL: r.StandInURL(),
	}.Command()
	path, args := tmux.StartCommand(tmux.Start{Socket: handSocket, Cols: benchCols, Rows: benchRows, Argv: argv})
	return &byHand{
		backend: backend,
		tmux:    sandbox.Command{Path: path, Args: args, Env: env, Dir: "/workspace"},
		spec: sandbox.Spec{
			ID: handBox, Limits: sandbox.Limits{MemoryBytes: 8 << 30, Processes: 4096},
			Mounts: []sandbox.Mount{
				{Host: filepath.Join(dir, "workspace"), Guest: "/workspace"},
				{Host: filepath.Join(dir, "config"), Guest: "/claude"},
				{Host: filepath.Join(dir, "report"), Guest: handReport},
				{Host: program, Guest: handClaude, ReadOnly: true},
				{Host: filepath.Join(r.RunnerDir(), "mod"), Guest: handMod, ReadOnly: true},
			},
		},
	}, nil
}

func onlyConversation(dir string) (string, error) {
	found := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if id, ok := strings.CutSuffix(filepath.Base(path), ".jsonl"); err == nil && ok && claudehub.ValidClaudeID(id) {
			found = append(found, id)
		}
		return err
	})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("the Session has %d conversations where one belongs", len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// once starts everything, waits for the prompt, and stops it.
func (h *byHand) once(ctx context.Context, into *samples) (err error) {
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, h.backend.Stop(stop, handBox, 8*time.Second))
	}()
	at := time.Now()
	if err := h.backend.Start(ctx, h.spec); err != nil {
		return err
	}
	if _, err := h.exec(ctx, h.tmux); err != nil {
		return err
	}
	for {
		if err := pause(ctx, lookTime); err != nil {
			return fmt.Errorf("no prompt by hand: %w", err)
		}
		text, err := h.exec(ctx, sandbox.Command{Path: "tmux", Args: []string{"-S", handSocket, "capture-pane", "-p"}})
		if err != nil {
			return err
		}
		if screen := claude.ReadScreen(text); screen.Box && screen.Kind != claude.ScreenBusy {
			*into = append(*into, time.Since(at))
			return nil
		}
	}
}

func (h *byHand) exec(ctx context.Context, cmd sandbox.Command) (string, error) {
	p, err := h.backend.Exec(ctx, handBox, cmd)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	_ = p.Stdin().Close()
	complaint := make(chan []byte, 1)
	go func() { // ends with the process
		b, _ := io.ReadAll(p.Stderr()) // for the error alone
		complaint <- b
	}()
	said, err := io.ReadAll(p.Stdout())
	if err != nil {
		return "", err
	}
	code, err := p.Wait(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: exit code %d: %s", cmd.Path, code, bytes.TrimSpace(<-complaint))
	}
	return string(said), err
}
