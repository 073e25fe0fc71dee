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
	"net"
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
	ID ID
	// Image is the system it starts from; "" is the Backend's own, where it has one (see Images.NeedsBase).
	Image   Image
	Mounts  []Mount
	Limits  Limits
	Network Network
	Relay   Relay
	// Build makes the system writable as root, so that Commit can freeze it into an Image.
	Build bool
}

// Limits bound what a Sandbox may take; zero means no limit of our own, or the Backend's default where it needs one.
type Limits struct {
	MemoryBytes int64
	Processes   int
	CPUs        int
	DiskBytes   int64 // of the system's own disk, where a Sandbox has one; volumes are the caller's to watch
}

// Network says what a Sandbox may reach. A Backend that cannot enforce it refuses to Start, and says so.
type Network struct {
	Policy claudehub.NetworkPolicy
	Allow  []string // with the allow-list: host names, "*.example.org", each with an optional :port
}

// Relay is where the Runner's relay listens on this machine. A Backend needs one or the other: RelayURL says what the
// Sandbox's processes use.
type Relay struct {
	Socket string // a unix socket of this Sandbox's own; "" for none
	Port   uint16 // on 127.0.0.1; 0 for none
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

// Stats are live figures of a Sandbox. What a Backend cannot tell is zero. A stopped one has DiskBytes alone.
type Stats struct {
	MemoryBytes int64         // taken on this machine
	MemoryLimit int64         // what it may take; 0 for no limit
	GuestMemory int64         // used by its processes, where that differs: a VM keeps what its guest once touched
	CPU         time.Duration // since its start, all processes
	Processes   int
	DiskBytes   int64 // that its own system takes on this machine's disk, volumes and Image apart
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
	// List tells every Sandbox this Backend's state folder knows, whoever started it, without waking or changing any. A
	// kind of leftover that is nobody's Sandbox any more is not listed: Reclaim removes it.
	List(ctx context.Context) ([]Info, error)
	// Exec starts a process in a running Sandbox. The context bounds the start alone; end the process with Close.
	Exec(ctx context.Context, id ID, cmd Command) (Process, error)
	Stats(ctx context.Context, id ID) (Stats, error)
	// Ping asks a running Sandbox's agent for a sign of life, and nothing more.
	Ping(ctx context.Context, id ID) error
	// Dial connects to a TCP port on the Sandbox's own loopback. Nobody listening there is claudehub.Unavailable.
	Dial(ctx context.Context, id ID, port uint16) (net.Conn, error)
	// RelayURL is the address, "http://HOST:PORT", at which processes in a running Sandbox reach its Spec's Relay.
	RelayURL(ctx context.Context, id ID) (string, error)

	Images
}

// Image names a system that a Backend holds and Sandboxes start from: [a-z0-9][a-z0-9-]{0,63}. It never changes once it
// is there; Sandboxes share it, and none can write to it.
type Image string

// ImageInfo is one Image as Images found it.
type ImageInfo struct {
	Image   Image
	Bytes   int64 // on this machine's disk, shared parts counted once, with the oldest
	Created time.Time
	// On is the Image that this one lies on; "" is none. While this one is there, removing that gives nothing back.
	On Image
}

// Images is what a Backend holds to start Sandboxes from.
type Images interface {
	// NeedsBase tells that a Sandbox cannot start without an Image: there is no system of this machine to borrow.
	NeedsBase() bool
	// Import makes an Image of a root filesystem: an uncompressed tar, as package image makes it. A name that is there
	// already is left as it is. What a failed or cancelled Import began, it removes.
	Import(ctx context.Context, rootfs string, name Image, progress func(done float64)) error
	// Commit makes an Image of a stopped Sandbox that was started with Build. The Sandbox can be removed afterwards.
	Commit(ctx context.Context, id ID, name Image) error
	// Images lists them, the oldest first.
	Images(ctx context.Context) ([]ImageInfo, error)
	// RemoveImage forgets an Image and gives its space back. One that a Sandbox, running or stopped, is made of is refused
	// with claudehub.Conflict; one that is not there is removed already.
	RemoveImage(ctx context.Context, name Image) error
	// Reclaim removes what was left behind by what failed or was killed, and tells how many bytes that gave back.
	Reclaim(ctx context.Context) (freed int64, err error)
}
