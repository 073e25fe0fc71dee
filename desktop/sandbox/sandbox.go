// Package sandbox is what the Runner asks of a machine for one Session: an isolated place that starts, stops, runs
// processes and can be found again.
//
// A Backend promises that a Sandbox outlives the process that started it: a Runner that was killed finds its Sandboxes
// with List and goes on. Nothing inside a Sandbox is trusted; what comes out of one is bytes from a stranger.
//
// Every call obeys its context's deadline. A call on one Sandbox never waits for another Sandbox.
package sandbox

import (
	"context"
	"io"
	"time"

	"claude-hub/internal/claudehub"
)

// ID names a Sandbox: the id of the Session that it serves. It is also a folder name: letters, digits, '_' and '-'.
type ID string

// Mount puts a host directory (or file) at a path of the Sandbox.
type Mount struct {
	Host     string // absolute path on this machine; must exist
	Guest    string // absolute path in the Sandbox
	ReadOnly bool
}

// Spec describes a Sandbox. It holds no secret: those are given to Exec, one process at a time.
type Spec struct {
	ID     ID
	Mounts []Mount
	Limits Limits
}

// Limits bound what a Sandbox may take; zero means no limit of our own.
type Limits struct {
	MemoryBytes int64
	Processes   int
}

// State is what a Backend knows of a Sandbox.
type State string

// The states of a Sandbox.
const (
	Running State = "running"
	Stopped State = "stopped"
	// Sick is a Sandbox whose processes exist and whose guest agent does not answer.
	Sick State = "sick"
)

// Info is one Sandbox as List found it.
type Info struct {
	ID      ID
	State   State
	Started time.Time // zero unless Running or Sick
}

// Stats are live figures of a running Sandbox.
type Stats struct {
	MemoryBytes int64         // resident, all processes
	CPU         time.Duration // since its start, all processes
	Processes   int
}

// Command is a process to run in a Sandbox. No shell is involved.
type Command struct {
	Path string // absolute, or a name looked up on the Sandbox's PATH
	Args []string
	// Env is laid over the Sandbox's own small environment (PATH, HOME, LANG, TERM). It may hold secrets: a Backend
	// gives it to the process and to nothing else.
	Env        []string
	Dir        string // working directory; "" is /workspace
	TTY        bool   // run on a new pseudo terminal; Stderr is then empty
	Cols, Rows uint16 // with TTY
}

// Process is a running Command.
type Process interface {
	// Stdin is what the process reads. Close ends it.
	Stdin() io.WriteCloser
	// Stdout and Stderr must be read, or the process stalls. They end with io.EOF when the process has ended.
	Stdout() io.Reader
	Stderr() io.Reader
	Resize(cols, rows uint16) error
	// Signal is delivered to the process group.
	Signal(sig int) error
	// Wait returns the exit code; a process ended by a signal has -1. It may be called once Stdout and Stderr are drained
	// or discarded. An error means that the code is not known, with the Sandbox gone for example.
	Wait(ctx context.Context) (int, error)
	// Close kills what still runs of the process's group and frees the connection. Daemons that left the group live on.
	Close() error
}

// Finding is one line of the doctor.
type Finding = claudehub.Finding

// Backend makes Sandboxes.
type Backend interface {
	// Name is "bubblewrap" or "microsandbox".
	Name() string
	// Check says why Sandboxes cannot start here, or that they can.
	Check(ctx context.Context) []Finding
	// Start brings a Sandbox of this Spec up and returns once its guest agent answers. An already running one of the same
	// ID is left as it is. What a failed Start began, it removes.
	Start(ctx context.Context, spec Spec) error
	// Stop ends every process of the Sandbox: politely at first, then, after grace, by force. Stopping what is not there
	// succeeds.
	Stop(ctx context.Context, id ID, grace time.Duration) error
	// Remove stops the Sandbox and forgets it. Mounted host directories are the caller's and stay.
	Remove(ctx context.Context, id ID) error
	// List tells every Sandbox this Backend's state folder knows, whoever started it, without waking or changing any.
	List(ctx context.Context) ([]Info, error)
	// Exec starts a process in a running Sandbox. The context bounds the start alone; end the process with Close.
	Exec(ctx context.Context, id ID, cmd Command) (Process, error)
	Stats(ctx context.Context, id ID) (Stats, error)
}
