package claudehub

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Desired is what the Creator wants a Session to be. The Hub keeps it; the Runner makes it so.
type Desired string

// The desired states.
const (
	WantAwake    Desired = "awake"
	WantAsleep   Desired = "asleep"
	WantArchived Desired = "archived"
	// WantDeleted ends the Session for good: its Sandbox, its workspace and its conversation are removed.
	WantDeleted Desired = "deleted"
)

// Kind says what runs in a Session's terminal.
type Kind string

// The kinds of Session.
const (
	KindClaude Kind = "claude"
	// KindLook is a shell in the Sandbox that a failed Build left: for a look inside. It cannot sleep; archiving it
	// removes that Sandbox.
	KindLook Kind = "look"
)

// Phase is what a Session is, as its Runner observed it.
type Phase string

// The phases, in the order of a life. Awake and asleep may follow each other often; archived can be undone.
const (
	PhaseNew       Phase = "new"       // the Runner has not looked at it yet
	PhasePreparing Phase = "preparing" // a named step runs: fetch Claude Code, clone, …
	PhaseStarting  Phase = "starting"  // Sandbox, tmux, claude are coming up
	PhaseAwake     Phase = "awake"
	PhaseStopping  Phase = "stopping"
	PhaseAsleep    Phase = "asleep"
	PhaseFailed    Phase = "failed"
	PhaseArchived  Phase = "archived"
	PhaseDeleted   Phase = "deleted" // nothing of it is left on the Runner's machine
)

// Activity is what Claude does while awake.
type Activity string

// The activities. Unknown is said rather than guessed.
const (
	Ready    Activity = "ready"
	Busy     Activity = "busy"
	NeedsYou Activity = "needs_you"
	Unknown  Activity = "unknown"
)

// Session is one Claude Code conversation and its Sandbox. One row for life.
type Session struct {
	ID      SessionID `json:"id"`
	Title   string    `json:"title"`
	Creator PersonID  `json:"creator"`
	Runner  RunnerID  `json:"runner"`
	// Access is what the person who asks has of it, and Shared who else has any.
	Access Access `json:"access,omitempty" enum:"participant,creator"`
	Shared Shared `json:"shared"`
	By     *Face  `json:"by,omitempty" doc:"the Creator, as others see them"`
	Source Source `json:"source"`
	Kind   Kind   `json:"kind" enum:"claude,look"`
	// Environment is nil for the default recipe. Another one counts from the next wake.
	Environment *EnvironmentRef `json:"environment,omitempty"`
	Build       BuildID         `json:"build,omitempty" doc:"kind look: whose Sandbox it is"`
	// Forwards are the ports that shall be reachable on the Runner's machine.
	Forwards []Forward `json:"forwards"`

	Desired Desired `json:"desired" enum:"awake,asleep,archived,deleted"`
	Model   string  `json:"model" doc:"a model's alias or name; 'default' is Claude Code's own choice"`
	Effort  string  `json:"effort" doc:"low, medium, high, xhigh, max; 'default' is Claude Code's own choice"`
	// Generation rises with each change of what is desired; Observed.Generation says which one the Runner has acted on.
	Generation int64 `json:"generation"`

	Observed Observed  `json:"observed"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// Source is where /workspace comes from: a git clone, or nothing.
type Source struct {
	GitURL string `json:"git_url,omitempty" doc:"empty for an empty workspace"`
	Branch string `json:"branch,omitempty" doc:"empty for the repository's default branch"`
}

// Observed is the Runner's word on a Session.
type Observed struct {
	Phase      Phase    `json:"phase" enum:"new,preparing,starting,awake,stopping,asleep,failed,archived,deleted"`
	Activity   Activity `json:"activity,omitempty" enum:"ready,busy,needs_you,unknown" doc:"while awake"`
	Generation int64    `json:"generation"`
	Step       *Step    `json:"step,omitempty" doc:"while preparing, starting or stopping"`
	Failure    *Failure `json:"failure,omitempty" doc:"while failed"`
	// Doing is what Claude does or said last, in one line.
	Doing string `json:"doing,omitempty"`
	// Notice is something the person should know and need not act on: a transcript's tail was dropped, say. It stands until
	// another one, until what it says is over, or until the Session is woken again.
	Notice  string    `json:"notice,omitempty"`
	Noticed time.Time `json:"noticed,omitzero" doc:"when the notice was told"`
	// SandboxLink is the hop from Runner to Sandbox.
	SandboxLink Link      `json:"sandbox_link"`
	Since       time.Time `json:"since" doc:"when phase or activity last changed"`

	// Environment is the version that the Sandbox runs on; nil for the default recipe, or before the first wake.
	Environment *EnvironmentRef `json:"environment,omitempty"`
	// Build is what the Session waits for, while preparing.
	Build   BuildID `json:"build,omitempty"`
	Figures Figures `json:"figures"`
	Ports   []Port  `json:"ports"`
	// Checks are what was looked at after the machine slept, and Checked when.
	Checks  []Check   `json:"checks"`
	Checked time.Time `json:"checked,omitzero"`
}

// Figures are what a Session takes on its machine. They are rounded, so that they change only when it matters.
type Figures struct {
	CPU         float64 `json:"cpu" doc:"of one processor: 1 is one whole; while awake"`
	CPUs        int     `json:"cpus" doc:"that it may use; 0 for no limit"`
	Memory      int64   `json:"memory" doc:"bytes; while awake"`
	MemoryLimit int64   `json:"memory_limit" doc:"0 for no limit"`
	Disk        int64   `json:"disk" doc:"bytes of its workspace, configuration and system; also asleep and archived"`
	DiskLimit   int64   `json:"disk_limit" doc:"of workspace and configuration; 0 for no limit"`
	// Freed is what deleting gave back to the machine's disk.
	Freed int64 `json:"freed,omitempty"`
}

// Forward asks for a port of the Sandbox to be reachable on the Runner's machine, on its loopback.
type Forward struct {
	Port int `json:"port" minimum:"1" maximum:"65535" doc:"in the Sandbox"`
	// Same asks for the same number on the Runner's machine, as a sign-in's callback address needs; otherwise any free one.
	Same bool `json:"same"`
}

// MaxForwards bounds a Session's Forwards.
const MaxForwards = 20

// Port is one that something listens on in the Sandbox, or that is forwarded.
type Port struct {
	Port    int    `json:"port"`
	Process string `json:"process,omitempty" doc:"who listens; empty when nobody does, or it cannot be told"`
	Listens bool   `json:"listens"`
	// Local is where it is reachable on the Runner's machine: "127.0.0.1:41234"; empty when it is not forwarded.
	Local string `json:"local,omitempty"`
	Error string `json:"error,omitempty" doc:"why a forward that was asked for is not there"`
}

// Check is one thing that was looked at in a Sandbox after its machine slept.
type Check struct {
	Name   string     `json:"name" enum:"clock,agent,network,tmux,claude"`
	State  CheckState `json:"state" enum:"running,ok,repaired,failed"`
	Detail string     `json:"detail,omitempty"`
}

// CheckState is what a Check found.
type CheckState string

// The states of a Check.
const (
	CheckRunning  CheckState = "running"
	CheckOK       CheckState = "ok"
	CheckRepaired CheckState = "repaired"
	CheckFailed   CheckState = "failed"
)

// Step is one named part of preparing, starting or stopping.
type Step struct {
	Name     string    `json:"name" doc:"in the person's words: 'Cloning example.org/app'"`
	Detail   string    `json:"detail,omitempty"`
	Progress float64   `json:"progress" doc:"0 to 1; -1 when it cannot be told"`
	Since    time.Time `json:"since"`
	Deadline time.Time `json:"deadline" doc:"when the step gives up"`
}

// Failure says what went wrong and the way on.
type Failure struct {
	Step   string `json:"step"`
	Reason string `json:"reason" doc:"what happened, one sentence"`
	Fix    string `json:"fix" doc:"what to do"`
	Detail string `json:"detail,omitempty" doc:"output, for folding away"`
	// Retry tells whether trying again unchanged can help.
	Retry bool `json:"retry"`
	// Choice is set when the person has to choose: "new_conversation" after a lost transcript.
	Choice string `json:"choice,omitempty" enum:"new_conversation"`
}

// LinkState is how a hop is.
type LinkState string

// The states of a hop.
const (
	LinkUp   LinkState = "up"
	LinkDown LinkState = "down"
	LinkNone LinkState = "none" // there is nothing to link to: a sleeping Sandbox
)

// Link is one hop and since when it is so.
type Link struct {
	State LinkState `json:"state" enum:"up,down,none"`
	Since time.Time `json:"since"`
}

// Bounds of what a person may send. MaxPaste keeps a paste, encoded, inside one bus message of 1 MiB.
const (
	MaxTitle     = 200       // runes
	MaxPrompt    = 512 << 10 // bytes
	MaxPaste     = 512 << 10 // bytes
	MaxKeys      = 16 << 10  // bytes in one keystroke message
	MinCols      = 2
	MaxCols      = 1000
	MinRows      = 2
	MaxRows      = 500
	PromptLife   = 24 * time.Hour
	MaxQueued    = 50   // prompts that wait in one Session
	MaxSessions  = 1000 // Sessions of one Runner that are not archived
	maxModelName = 100
)

// Models and Efforts are what the pages offer; a full model name is accepted as well.
var (
	Models  = []string{"default", "opus", "sonnet", "haiku"}
	Efforts = []string{"default", "low", "medium", "high", "xhigh", "max"}
)

var modelName = regexp.MustCompile(`^claude-[a-z0-9][a-z0-9.-]*(\[1m\])?$`)

// ValidModel refuses a model that Claude Code would not know by name.
func ValidModel(s string) error {
	if slices.Contains(Models, s) || len(s) <= maxModelName && modelName.MatchString(s) {
		return nil
	}
	return Errorf(Invalid, "There is no model called %q. Choose one of %s, or a full name that starts with claude-.",
		shorten(s), strings.Join(Models, ", "))
}

// ValidEffort refuses an effort that Claude Code does not have.
func ValidEffort(s string) error {
	if slices.Contains(Efforts, s) {
		return nil
	}
	return Errorf(Invalid, "There is no effort called %q. Choose one of %s.", shorten(s), strings.Join(Efforts, ", "))
}

// ValidTitle refuses what would not fit on a line.
func ValidTitle(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return Errorf(Invalid, "A title needs at least one letter.")
	case utf8.RuneCountInString(s) > MaxTitle:
		return Errorf(Invalid, "A title has at most %d characters.", MaxTitle)
	case !printable(s):
		return Errorf(Invalid, "A title is one line of text.")
	}
	return nil
}

// scpLike is the short form git takes for SSH: user@host:path.
var scpLike = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s-][^\s]*$`)

// ValidSource refuses what git would not clone, or would run as a command, and a URL that carries a password: it would
// stay in the clone's configuration, and in every list.
func ValidSource(s Source) error {
	if s.GitURL == "" {
		if s.Branch != "" {
			return Errorf(Invalid, "A branch needs a git URL.")
		}
		return nil
	}
	if err := validBranch(s.Branch); err != nil {
		return err
	}
	if len(s.GitURL) > 2000 || !printable(s.GitURL) {
		return Errorf(Invalid, "That is not a git URL: it is too long or has unprintable characters.")
	}
	if scpLike.MatchString(s.GitURL) {
		return nil
	}
	u, err := url.Parse(s.GitURL)
	if err != nil || u.Host == "" || !slices.Contains([]string{"https", "http", "ssh", "git"}, u.Scheme) {
		return Errorf(Invalid, "That is not a git URL. It looks like https://host/owner/repository or git@host:owner/repository.")
	}
	if _, has := u.User.Password(); has {
		return Errorf(Invalid, "That git URL holds a password. Leave it out of the URL.")
	}
	return nil
}

func validBranch(s string) error {
	bad := strings.HasPrefix(s, "-") || strings.Contains(s, "..") || strings.ContainsAny(s, " ~^:?*[\\") ||
		strings.HasSuffix(s, ".lock") || strings.HasSuffix(s, "/") || len(s) > 250 || !printable(s)
	if bad {
		return Errorf(Invalid, "%q is not a branch name.", shorten(s))
	}
	return nil
}

// ValidPrompt refuses an empty prompt and one that would not go in one piece.
func ValidPrompt(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return Errorf(Invalid, "The prompt is empty.")
	case len(s) > MaxPrompt:
		return Errorf(TooLarge, "The prompt has %d KB; the most that can be sent is %d KB. Put the rest in a file of the workspace.",
			len(s)>>10, MaxPrompt>>10)
	case !utf8.ValidString(s):
		return Errorf(Invalid, "The prompt is not valid UTF-8 text.")
	}
	return nil
}

// ValidSize refuses sizes no terminal has, zero above all.
func ValidSize(cols, rows int) error {
	if cols < MinCols || cols > MaxCols || rows < MinRows || rows > MaxRows {
		return Errorf(Invalid, "A terminal of %d×%d is not possible: %d to %d columns and %d to %d rows are.",
			cols, rows, MinCols, MaxCols, MinRows, MaxRows)
	}
	return nil
}

// TitleFrom makes a first title from what the person gave: the first line of the prompt that shows anything, else the
// repository's name.
func TitleFrom(prompt string, src Source) string {
	for line := range strings.Lines(prompt) {
		if t := titleLine(line); t != "" {
			return t
		}
	}
	parts := strings.FieldsFunc(strings.TrimSuffix(src.GitURL, ".git"), func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) > 0 {
		if t := titleLine(parts[len(parts)-1]); t != "" {
			return t
		}
	}
	return "New Session"
}

// titleLine is what a valid title can take of a line: empty if nothing of it shows.
func titleLine(line string) string {
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !printable(string(r)) {
			return -1
		}
		return r
	}, line))
	if r := []rune(line); len(r) > 60 {
		line = strings.TrimSpace(string(r[:59])) + "…"
	}
	return line
}

func printable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
