package microsandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Options say where things are. Only State is needed.
type Options struct {
	// State is the folder for what this Backend must remember, its VMs' disks included. Keep the path short: it holds unix
	// sockets. It must be on a file system with user xattrs.
	State string
	// Guest is the claude-hub-guest program for Linux; "" is the one beside the running program.
	Guest string
	// Program is the msb program; "" is the one that Install put into State, and else the one on PATH.
	Program string
	// Patience multiplies every deadline of this package's own; zero is one. Emulated machines need more.
	Patience float64
	// Log gets what went wrong and stopped nobody; nil is slog.Default.
	Log *slog.Logger
}

// Backend runs Sandboxes in microVMs.
type Backend struct {
	state, guest, program string
	patience              float64
	log                   *slog.Logger
	prefix                string // of our VMs' names: other state folders of this machine have others

	doorsMu sync.Mutex
	doors   map[sandbox.ID]*door

	toolMu sync.Mutex
	known  tool // the msb that was last found good
}

var _ sandbox.Backend = (*Backend)(nil)

// Deadlines of our own, before patience.
const (
	answerTimeout = 3 * time.Second  // for an agent's sign of life
	bootTimeout   = 60 * time.Second // for a VM to be there
	callTimeout   = 20 * time.Second // for one msb call that moves no data
	copyTimeout   = 10 * time.Minute // for one that does
	execTimeout   = 15 * time.Second
)

// New makes a Backend and its state folder. It starts nothing; Check says whether it will work.
func New(o Options) (*Backend, error) {
	state, err := filepath.Abs(o.State)
	if err != nil || o.State == "" {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The state folder %q is not a usable path. Give another one.", o.State)
	}
	for _, dir := range []string{"", "m", "box", "image", "lock", "tmp"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o700); err != nil {
			return nil, claudehub.WithCause(claudehub.Unavailable, err, "The state folder %s cannot be made. Check who owns its parent.", state)
		}
	}
	// Its sockets open every Sandbox, and msb makes files that all may read: this folder is what keeps others out.
	for _, dir := range []string{state, filepath.Join(state, "m")} {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, claudehub.WithCause(claudehub.Unavailable, err, "The state folder %s is not ours. Give another one, or its ownership back.", dir)
		}
	}
	sum := sha256.Sum256([]byte(state))
	b := &Backend{
		state: state, guest: o.Guest, program: o.Program, patience: max(o.Patience, 1), log: o.Log,
		prefix: "ch-" + hex.EncodeToString(sum[:4]) + "-", doors: map[sandbox.ID]*door{},
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	if err := b.fits(); err != nil {
		return nil, err
	}
	if b.guest == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own program: %w", err)
		}
		b.guest = filepath.Join(filepath.Dir(self), "claude-hub-guest")
	}
	return b, nil
}

// maxSocketPath is what the system takes for a unix socket's path.
func maxSocketPath() int {
	if runtime.GOOS == "darwin" {
		return 103
	}
	return 107
}

// fits refuses a state folder whose sockets would have paths that are too long.
func (b *Backend) fits() error {
	longest := max(len(agentSocket(b.home(), b.prefix)), len(b.box("").dir)+len("/0123456789-0123456789-0123456789-012345/x"))
	if over := longest - maxSocketPath(); over > 0 {
		return claudehub.Errorf(claudehub.Invalid,
			"The path of the state folder %s is %d characters too long for the sockets in it. Choose a shorter one, with --dir or CLAUDE_HUB_RUNNER_DIR.", b.state, over)
	}
	return nil
}

// Close ends what this process has open. The Sandboxes run on.
func (b *Backend) Close() error {
	b.doorsMu.Lock()
	doors := b.doors
	b.doors = map[sandbox.ID]*door{}
	b.doorsMu.Unlock()
	var errs []error
	for _, d := range doors {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// Name is "microsandbox".
func (b *Backend) Name() string { return "microsandbox" }

func (b *Backend) home() string { return filepath.Join(b.state, "m") }

// vm is what msb calls a Sandbox.
func (b *Backend) vm(id sandbox.ID) string { return b.prefix + string(id) }

// agentSocket is where msb's own agent of a VM listens: msb does not tell, and names it after the VM's name.
func agentSocket(home, vm string) string {
	sum := sha256.Sum256([]byte(vm))
	return filepath.Join(home, "run", "sandboxes", hex.EncodeToString(sum[:12]), "agent.sock")
}

// disk is the folder that msb keeps for a VM.
func (b *Backend) disk(id sandbox.ID) string { return filepath.Join(b.home(), "sandboxes", b.vm(id)) }

var idShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkID(id sandbox.ID) error {
	if !idShape.MatchString(string(id)) {
		return claudehub.Errorf(claudehub.Invalid, "%q is no Sandbox id: use 1 to 64 letters, digits, '_' and '-'.", id)
	}
	return nil
}

func (b *Backend) times(d time.Duration) time.Duration {
	return time.Duration(float64(d) * b.patience)
}

// within gives ctx an end of its own where the caller set none.
func (b *Backend) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, b.times(d))
}
