package claudehub

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// An id is a prefix that names its kind, then 26 lower-case letters and digits that rise with time. It is safe as a file
// name, in a URL and as one token of a bus subject.
type (
	// SessionID looks like ses_06d8m….
	SessionID string
	// RunnerID looks like run_06d8m….
	RunnerID string
	// PersonID looks like per_06d8m….
	PersonID string
	// PromptID looks like pro_06d8m….
	PromptID string
	// EventID looks like evt_06d8m…. The Runner makes it, and the Hub stores each once.
	EventID string
	// EnvironmentID looks like env_06d8m….
	EnvironmentID string
	// BuildID looks like bld_06d8m…. Hub and Runner both make them.
	BuildID string
)

const idAlphabet = "0123456789abcdefghijklmnopqrstuv"

var idEncoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

func newID(prefix string) string {
	u, err := uuid.NewV7()
	if err != nil {
		// The system's random source is gone; nothing that needs an id can go on.
		panic("no random numbers: " + err.Error())
	}
	return prefix + idEncoding.EncodeToString(u[:])
}

func validID(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != 26 {
		return false
	}
	return strings.Trim(rest, idAlphabet) == ""
}

// NewSessionID and its siblings make a new id.
func NewSessionID() SessionID { return SessionID(newID("ses_")) }

// NewRunnerID makes a new id.
func NewRunnerID() RunnerID { return RunnerID(newID("run_")) }

// NewPersonID makes a new id.
func NewPersonID() PersonID { return PersonID(newID("per_")) }

// NewPromptID makes a new id.
func NewPromptID() PromptID { return PromptID(newID("pro_")) }

// NewEventID makes a new id.
func NewEventID() EventID { return EventID(newID("evt_")) }

// NewEnvironmentID makes a new id.
func NewEnvironmentID() EnvironmentID { return EnvironmentID(newID("env_")) }

// NewBuildID makes a new id.
func NewBuildID() BuildID { return BuildID(newID("bld_")) }

// ParseSessionID and its siblings accept exactly what the New functions make.
func ParseSessionID(s string) (SessionID, error) {
	if !validID("ses_", s) {
		return "", Errorf(NotFound, "There is no Session with that id.")
	}
	return SessionID(s), nil
}

// ParseRunnerID accepts exactly what NewRunnerID makes.
func ParseRunnerID(s string) (RunnerID, error) {
	if !validID("run_", s) {
		return "", Errorf(NotFound, "There is no Runner with that id.")
	}
	return RunnerID(s), nil
}

// ParsePromptID accepts exactly what NewPromptID makes.
func ParsePromptID(s string) (PromptID, error) {
	if !validID("pro_", s) {
		return "", Errorf(NotFound, "There is no prompt with that id.")
	}
	return PromptID(s), nil
}

// ParseEventID accepts exactly what NewEventID makes.
func ParseEventID(s string) (EventID, error) {
	if !validID("evt_", s) {
		return "", Errorf(Invalid, "That is not an event id.")
	}
	return EventID(s), nil
}

// ParseEnvironmentID accepts exactly what NewEnvironmentID makes.
func ParseEnvironmentID(s string) (EnvironmentID, error) {
	if !validID("env_", s) {
		return "", Errorf(NotFound, "There is no Environment with that id.")
	}
	return EnvironmentID(s), nil
}

// ParseBuildID accepts exactly what NewBuildID makes.
func ParseBuildID(s string) (BuildID, error) {
	if !validID("bld_", s) {
		return "", Errorf(NotFound, "There is no build with that id.")
	}
	return BuildID(s), nil
}

// NewClaudeID makes the UUID that Claude Code knows a conversation by.
func NewClaudeID() string { return uuid.NewString() }

// ValidClaudeID tells whether s has the shape of a conversation's UUID.
func ValidClaudeID(s string) bool {
	u, err := uuid.Parse(s)
	return err == nil && u.String() == s
}

// NewNonce makes 128 random bits as 26 lower-case letters and digits, for what must not be guessed or repeated and is
// no credential.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead (crypto/rand)
	return idEncoding.EncodeToString(b[:])
}

// EventIDOf makes the same id for the same thing each time, so that what is reported twice is stored once.
func EventIDOf(thing string) EventID {
	sum := sha256.Sum256([]byte(thing))
	return EventID("evt_" + idEncoding.EncodeToString(sum[:16]))
}
