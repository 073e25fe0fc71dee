//go:build linux

package bubblewrap

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Options say where things are. Only State is needed.
type Options struct {
	// State is the folder for what this Backend must remember. Keep the path short: it holds unix sockets.
	State string
	// Guest is the claude-hub-guest program; "" is the one beside the running program.
	Guest string
	// Bwrap is the bubblewrap program; "" is the one on PATH.
	Bwrap string
	// Answer is how long an agent may take to answer before its Sandbox counts as sick; zero is three seconds.
	Answer time.Duration
	// Log gets what went wrong and stopped nobody; nil is slog.Default.
	Log *slog.Logger
}

// Backend runs Sandboxes with bubblewrap.
type Backend struct {
	state, guest, bwrap string
	answer              time.Duration
	log                 *slog.Logger

	version func(context.Context) (version, error)
	sizes   sizes
}

var _ sandbox.Backend = (*Backend)(nil)

// startTimeout bounds a Start whose context does not; execTimeout an Exec's.
const (
	startTimeout = 30 * time.Second
	execTimeout  = 15 * time.Second
)

// New makes a Backend and its state folder. It starts nothing; Check says whether it will work.
func New(o Options) (*Backend, error) {
	state, err := filepath.Abs(o.State)
	if err != nil || o.State == "" {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The state folder %q is not a usable path. Give another one.", o.State)
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The state folder %s cannot be made. Check who owns its parent.", state)
	}
	// Its sockets open every Sandbox: a folder that was made by someone else's umask is put right.
	if err := os.Chmod(state, 0o700); err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The state folder %s is not ours. Give another one, or its ownership back.", state)
	}
	b := &Backend{state: state, guest: o.Guest, bwrap: o.Bwrap, answer: o.Answer, log: o.Log}
	if b.guest == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own program: %w", err)
		}
		b.guest = filepath.Join(filepath.Dir(self), "claude-hub-guest")
	}
	if b.guest, err = filepath.Abs(b.guest); err != nil {
		return nil, fmt.Errorf("find guest program: %w", err)
	}
	if b.answer <= 0 {
		b.answer = 3 * time.Second
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	b.version = remember(b.askVersion)
	return b, nil
}

// remember keeps the first good answer.
func remember[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
	var mu sync.Mutex
	var kept *T
	return func(ctx context.Context) (T, error) {
		mu.Lock()
		if kept != nil {
			defer mu.Unlock()
			return *kept, nil
		}
		mu.Unlock()
		v, err := ask(ctx)
		if err == nil {
			mu.Lock()
			kept = &v
			mu.Unlock()
		}
		return v, err
	}
}

// Name is "bubblewrap".
func (b *Backend) Name() string { return "bubblewrap" }

var idShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkID(id sandbox.ID) error {
	if !idShape.MatchString(string(id)) {
		return claudehub.Errorf(claudehub.Invalid, "%q is no Sandbox id: use 1 to 64 letters, digits, '_' and '-'.", id)
	}
	return nil
}

// within gives ctx an end of its own where the caller set none.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
