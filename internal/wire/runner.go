package wire

import (
	"time"

	"claude-hub/internal/claudehub"
)

// Paths of the Runner's side of the Hub. All take "Authorization: Bearer chr_…", ProtocolHeader and InstanceHeader.
const (
	StreamPath = "/runner/v1/stream" // GET, Server-Sent Events; ?take_over=true, ?host=NAME
	StatusPath = "/runner/v1/status" // POST Status → StatusReply
	EventsPath = "/runner/v1/events" // POST Events → EventsReply
	// ScreenPath takes Frames (POST, application/octet-stream); the answer, 204, is the acknowledgement.
	ScreenPath = "/runner/v1/sessions/{id}/screen"
	// VariablesPath and BuildVariablesPath answer with Variables (GET). The Runner asks when a Session starts or a build
	// begins, and keeps the answer in memory alone.
	VariablesPath      = "/runner/v1/sessions/{id}/variables"
	BuildVariablesPath = "/runner/v1/builds/{id}/variables"
	// BuildLogPath takes bytes of a build's log from ?offset=N on (POST, application/octet-stream, at most MaxLogChunk) and
	// answers with a LogReply. A build that the Hub does not know is claudehub.NotFound.
	BuildLogPath = "/runner/v1/builds/{id}/log"
)

// TokenPath gives a Runner its next token (POST → NewToken). The one that it asked with is good until the new one is first
// used, and a week at the most: a Runner that lost the answer asks again.
const TokenPath = "/runner/v1/token"

// NewToken is a Runner's next token.
type NewToken struct {
	Token string `json:"token"`
}

// TokenLife is how old a Runner lets its token become before it asks for the next one.
const TokenLife = 24 * time.Hour

// MaxLogChunk bounds one upload of a build's log.
const MaxLogChunk = 256 << 10

// Kinds of event on the stream. Snapshot, desired and machine have an id, which rises per Runner, and are repeated after
// Last-Event-ID. The others are ephemeral: sent once to who is connected, without an id.
const (
	EventSnapshot   = "snapshot"   // Snapshot
	EventDesired    = "desired"    // DesiredSession
	EventMachine    = "machine"    // DesiredMachine
	EventInput      = "input"      // Input
	EventResize     = "resize"     // Resize
	EventAttach     = "attach"     // Attach
	EventDetach     = "detach"     // Detach
	EventSuperseded = "superseded" // Superseded; the Hub then ends the stream
	EventRevoked    = "revoked"    // the Runner's token is not good any more; the Hub then ends the stream
)

// StreamPing is how often the Hub writes a comment on a silent stream; StreamDead is the silence after which the
// Runner takes the link for dead.
const (
	StreamPing = 15 * time.Second
	StreamDead = 40 * time.Second
)

// MaxEvent bounds one event's data, in bytes. A paste, encoded, and all queued prompts of a Session fit.
const MaxEvent = 64 << 20

// Snapshot is every Session of the Runner that is not gone, at one sequence number.
type Snapshot struct {
	Seq      int64            `json:"seq"`
	Sessions []DesiredSession `json:"sessions"`
	Machine  DesiredMachine   `json:"machine"`
}

// DesiredMachine is what is desired of the Runner's machine as a whole, all of it each time.
type DesiredMachine struct {
	Seq int64 `json:"seq"`
	// Builds are those that are not final, the oldest first.
	Builds []DesiredBuild `json:"builds"`
	// Reclaim is the number of the last Reclaim that was asked for: the Runner does one when it is higher than what it did
	// last, and says so in Machine.Storage.Reclaimed. What names the kinds of claudehub.StorageItem to remove.
	Reclaim int64    `json:"reclaim"`
	What    []string `json:"what"`
}

// DesiredBuild is a build that the Runner shall make, or give up. Of builds with the same hash it makes one.
type DesiredBuild struct {
	ID          claudehub.BuildID        `json:"id"`
	Environment claudehub.EnvironmentRef `json:"environment"`
	Recipe      claudehub.Recipe         `json:"recipe"`
	Cancel      bool                     `json:"cancel"`
	// Again asks to build although an image of this recipe is there.
	Again bool `json:"again"`
}

// DesiredEnvironment is the recipe of the version that a Session is to run on.
type DesiredEnvironment struct {
	claudehub.EnvironmentRef
	Recipe claudehub.Recipe `json:"recipe"`
}

// DesiredSession is all that the Runner must know to make one Session so. It is whole each time: whatever was missed
// before does not matter.
type DesiredSession struct {
	Seq     int64               `json:"seq"`
	ID      claudehub.SessionID `json:"id"`
	Creator claudehub.PersonID  `json:"creator"`
	// By is who changed the desired state last, prompts aside; "" when that was before protocol 3.
	By         claudehub.PersonID `json:"by,omitempty"`
	Title      string             `json:"title"`
	Source     claudehub.Source   `json:"source"`
	Desired    claudehub.Desired  `json:"desired"`
	Model      string             `json:"model"`
	Effort     string             `json:"effort"`
	Generation int64              `json:"generation"`
	Kind       claudehub.Kind     `json:"kind"` // "" is claude
	// Build, with kind look, is whose Sandbox it is.
	Build claudehub.BuildID `json:"build,omitempty"`
	// Environment is nil for the default recipe.
	Environment *DesiredEnvironment `json:"environment,omitempty"`
	// Variables names the state of the Variables that the Session gets at its next start; "" when it has none.
	Variables string              `json:"variables"`
	Forwards  []claudehub.Forward `json:"forwards"`
	// Conversation rises when the person chose to start a new conversation, after a transcript was lost.
	Conversation int64 `json:"conversation"`
	// StopAt asks to interrupt a Turn that began before it; zero when nobody asked.
	StopAt time.Time `json:"stop_at,omitzero"`
	// Prompts are those not yet final, in the order to send them.
	Prompts []claudehub.Prompt `json:"prompts"`
}

// InputKind says how Input.Data goes in.
type InputKind string

// The kinds of input.
const (
	InputKeys  InputKind = "keys"
	InputPaste InputKind = "paste"
)

// Input is keystrokes or a paste from one terminal of one person. Terminal and N together make it happen once: the
// Runner applies N = 1, 2, 3 … of a Terminal in order, and answers a repeated N as already applied.
type Input struct {
	Session  claudehub.SessionID `json:"session"`
	Author   claudehub.PersonID  `json:"author"`
	Terminal string              `json:"terminal"` // made by the browser: [a-z0-9-]{1,64}
	Life     string              `json:"life"`     // of the screen that the person saw: Frame.Life
	N        uint64              `json:"n"`
	Kind     InputKind           `json:"kind"`
	Data     []byte              `json:"data"`
	// Signature is room for the author's own browser to sign the input, so that a Hub could not type. Nobody does yet.
	Signature []byte `json:"signature,omitempty"`
}

// InputState is what became of an Input.
type InputState string

// The states of an Input, as a browser is told them.
const (
	InputDelivered InputState = "delivered" // handed to the Runner's stream
	InputApplied   InputState = "applied"   // tmux took it
	InputRefused   InputState = "refused"
	InputExpired   InputState = "expired" // its terminal's life is over
)

// InputReport answers Inputs: all of Terminal up to N are in State. It travels as a record of the screen upload.
type InputReport struct {
	Terminal string     `json:"terminal"`
	Life     string     `json:"life"`
	N        uint64     `json:"n"`
	State    InputState `json:"state" enum:"delivered,applied,refused,expired"`
	Why      string     `json:"why,omitempty"`
}

// Resize is the size owner's wish.
type Resize struct {
	Session claudehub.SessionID `json:"session"`
	Author  claudehub.PersonID  `json:"author"`
	Cols    int                 `json:"cols"`
	Rows    int                 `json:"rows"`
}

// Attach says that a Hub process has viewers for a Session's screen. It holds for AttachLife and is renewed. With
// Snapshot set the Runner answers with a snapshot frame. With Terminal set it also answers what was last applied from
// that terminal, as an InputReport.
type Attach struct {
	Session  claudehub.SessionID `json:"session"`
	Feed     string              `json:"feed"` // the Hub process's feed: a nonce
	Snapshot bool                `json:"snapshot,omitempty"`
	History  int                 `json:"history,omitempty"` // lines of scrollback in the snapshot
	Terminal string              `json:"terminal,omitempty"`
}

// Detach ends an Attach early.
type Detach struct {
	Session claudehub.SessionID `json:"session"`
	Feed    string              `json:"feed"`
}

// AttachLife is how long an Attach holds without renewal; a Hub renews at a third of it.
const AttachLife = 30 * time.Second

// Superseded tells a Runner process that another took its lease.
type Superseded struct {
	By string `json:"by"` // host name
}

// Status is what the Runner observes: of each Session that changed since the last status that was answered, or all
// after a new stream, and of the machine.
type Status struct {
	Machine  claudehub.Machine `json:"machine"`
	Sessions []ObservedSession `json:"sessions"`
	Builds   []ObservedBuild   `json:"builds"`
}

// ObservedBuild is how far a build has come. One that the Hub does not know yet was begun for a Session whose image was
// not there: the Hub then makes its row, if the Environment is one that a Session of this Runner's has.
type ObservedBuild struct {
	ID          claudehub.BuildID       `json:"id"`
	Environment claudehub.EnvironmentID `json:"environment"`
	Version     int                     `json:"version"`
	Hash        string                  `json:"hash"`
	Session     claudehub.SessionID     `json:"session,omitempty"` // for which it was begun
	State       claudehub.BuildState    `json:"state"`
	Steps       []claudehub.BuildStep   `json:"steps"`
	Failure     *claudehub.Failure      `json:"failure,omitempty"`
	Line        int                     `json:"line,omitempty"`
	Kept        time.Time               `json:"kept,omitzero"`
}

// Variables are what a Session's or a build's processes get.
type Variables struct {
	Revision string     `json:"revision"`
	Items    []Variable `json:"items"`
}

// Variable is one with its value. It is kept in memory and given to Exec alone.
type Variable struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Secret bool   `json:"secret"`
}

// LogReply says how much of a log the Hub has: the Runner goes on from there.
type LogReply struct {
	Offset int64 `json:"offset"`
}

// ObservedSession is one Session's observed state.
type ObservedSession struct {
	ID       claudehub.SessionID `json:"id"`
	Observed claudehub.Observed  `json:"observed"`
}

// StatusReply acknowledges a Status.
type StatusReply struct {
	// Gone are Sessions in the Status that the Hub has no row for.
	Gone []claudehub.SessionID `json:"gone"`
	// GoneBuilds are builds in the Status that the Hub has no row for and makes none: the Runner forgets them.
	GoneBuilds []claudehub.BuildID `json:"gone_builds"`
}

// Events is a batch from the Runner's outbox. The Hub stores each id once and answers those it has.
type Events struct {
	Events []Event `json:"events"`
}

// MaxEvents bounds a batch.
const MaxEvents = 100

// EventKind says what an Event reports.
type EventKind string

// The kinds of event.
const (
	// ReportPrompt: a prompt came further.
	ReportPrompt EventKind = "prompt"
	// ReportTurn: a Turn began or ended.
	ReportTurn EventKind = "turn"
	// ReportNotice: something the person should find in the Session's history.
	ReportNotice EventKind = "notice"
	// ReportDevcontainer: a clone has devcontainer files; Text is a Devcontainer. It seeds an Environment.
	ReportDevcontainer EventKind = "devcontainer"
)

// Devcontainer is what a repository says of its development container, as it was read from a clone.
type Devcontainer struct {
	Path string `json:"path"` // of devcontainer.json
	JSON string `json:"json"`
	// Files are those that it names and that are plain text, by their path beside it: a feature's install.sh, say.
	Files map[string]string `json:"files"`
}

// Bounds of a Devcontainer, in bytes.
const (
	MaxDevcontainerFile = 64 << 10
	MaxDevcontainer     = 256 << 10
)

// Event is one thing that happened in a Session and must reach the Hub, however late.
type Event struct {
	ID      claudehub.EventID   `json:"id"`
	Session claudehub.SessionID `json:"session"`
	Kind    EventKind           `json:"kind" enum:"prompt,turn,notice,devcontainer"`
	At      time.Time           `json:"at"`

	Prompt claudehub.PromptID    `json:"prompt,omitempty"`
	State  claudehub.PromptState `json:"state,omitempty"`
	Text   string                `json:"text,omitempty"` // why, for a prompt; what, for a notice; the last answer, for a turn
	Ended  bool                  `json:"ended,omitempty"`
}

// EventsReply says which events the Hub has stored, now or before: the Runner forgets those.
type EventsReply struct {
	Stored []claudehub.EventID `json:"stored"`
}
