package claudehub

import "time"

// Build is one making of an Environment's image on one Runner: base image, setup script in a Sandbox, a smoke test, a
// snapshot. Builds of the same recipe on the same Runner share one result.
type Build struct {
	ID          BuildID       `json:"id"`
	Environment EnvironmentID `json:"environment"`
	Version     int           `json:"version"`
	Hash        string        `json:"hash" doc:"of what the recipe builds"`
	Runner      RunnerID      `json:"runner"`
	By          PersonID      `json:"by" doc:"who pressed Build, or whose Session needed it"`
	State       BuildState    `json:"state" enum:"queued,building,ready,failed,cancelled"`
	// Cancelling is set from the wish to cancel until the Runner has.
	Cancelling bool        `json:"cancelling"`
	Steps      []BuildStep `json:"steps"`
	Failure    *Failure    `json:"failure,omitempty"`
	// Line is the line of the setup script that failed, 1, 2, 3 …; 0 when that is not known.
	Line int `json:"line,omitempty"`
	// Kept tells that the failed Sandbox is still there for a look inside, until when.
	Kept     time.Time `json:"kept,omitzero"`
	LogBytes int64     `json:"log_bytes"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// BuildState is how far a Build has come.
type BuildState string

// The states of a Build. The last three are final.
const (
	BuildQueued    BuildState = "queued" // the Runner has not begun
	BuildBuilding  BuildState = "building"
	BuildReady     BuildState = "ready"
	BuildFailed    BuildState = "failed"
	BuildCancelled BuildState = "cancelled"
)

// Final tells that a state does not change any more.
func (s BuildState) Final() bool {
	return s == BuildReady || s == BuildFailed || s == BuildCancelled
}

// BuildStep is one part of a Build.
type BuildStep struct {
	Name  string         `json:"name" doc:"in the person's words: 'Base image'"`
	State BuildStepState `json:"state" enum:"waiting,running,cached,done,failed"`
	// Detail is what it found: an image's digest, a tool's version.
	Detail   string    `json:"detail,omitempty"`
	Progress float64   `json:"progress" doc:"0 to 1; -1 when it cannot be told"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	// LogFrom is where in the log its output begins.
	LogFrom int64 `json:"log_from"`
}

// BuildStepState is how far a step has come.
type BuildStepState string

// The states of a step.
const (
	StepWaiting BuildStepState = "waiting"
	StepRunning BuildStepState = "running"
	StepCached  BuildStepState = "cached" // nothing to do: it was done before
	StepDone    BuildStepState = "done"
	StepFailed  BuildStepState = "failed"
)

// Bounds of Builds.
const (
	// MaxBuildLog is how much of a log is kept, in bytes: its first half and its last, with a line between that says how
	// much is left out.
	MaxBuildLog = 4 << 20
	// BuildLimit is how long a Build may take.
	BuildLimit = 60 * time.Minute
	// KeepFailed is how long a failed Build's Sandbox is kept for a look inside.
	KeepFailed = 2 * time.Hour
)
