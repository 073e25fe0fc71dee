package claudehub

import (
	"slices"
	"strings"
	"time"
)

// Role is what a person is to a Hub.
type Role string

// The roles. An admin sees people, Runners and the audit log, and ends sign-ins; an admin neither watches nor drives
// another person's Sessions.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
)

// Scope is what an API token may be used for. What has no scope is for signed-in browsers alone: making tokens, sharing,
// approving a device, everything of an admin.
type Scope string

// The scopes.
const (
	ScopeNone         Scope = ""
	ScopeRead         Scope = "sessions:read"
	ScopeDrive        Scope = "sessions:drive"
	ScopeEnvironments Scope = "environments"
	ScopeRunners      Scope = "runners"
)

// Scopes are all that a token can have.
var Scopes = []Scope{ScopeRead, ScopeDrive, ScopeEnvironments, ScopeRunners}

// Bounds of API tokens.
const (
	MaxTokenName = 60 // runes
	MaxTokens    = 50 // of one person
	MaxTokenLife = 366 * 24 * time.Hour
)

// ValidScopes refuses an unknown scope, none at all, and one that is named twice.
func ValidScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return Errorf(Invalid, "A token needs at least one scope: %s.", joinScopes(Scopes))
	}
	for i, s := range scopes {
		if !slices.Contains(Scopes, s) {
			return Errorf(Invalid, "There is no scope called %q. Choose from %s.", shorten(string(s)), joinScopes(Scopes))
		}
		if slices.Contains(scopes[:i], s) {
			return Errorf(Invalid, "The scope %s is named twice.", s)
		}
	}
	return nil
}

func joinScopes(scopes []Scope) string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

// ValidExpiry refuses an end that is past or more than a year away. The zero time is a token that lives until it is
// revoked.
func ValidExpiry(expires, now time.Time) error {
	switch {
	case expires.IsZero():
		return nil
	case !expires.After(now):
		return Errorf(Invalid, "A token cannot expire in the past.")
	case expires.Sub(now) > MaxTokenLife:
		return Errorf(Invalid, "A token can live a year at most, or until it is revoked.")
	}
	return nil
}

// APIToken is a person's credential for scripts, as people see it: what it is itself is shown once, when it is made.
type APIToken struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Scopes   []Scope   `json:"scopes"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero" doc:"absent for a token that lives until it is revoked"`
	LastUsed time.Time `json:"last_used,omitzero"`
	Address  string    `json:"address,omitempty" doc:"where it was last used from"`
}

// Access is what a person has of a Session.
type Access string

// The kinds of access. None looks like a Session that is not there.
const (
	AccessNone        Access = ""
	AccessParticipant Access = "participant"
	AccessCreator     Access = "creator"
)

// Face is a person as others see them.
type Face struct {
	ID     PersonID `json:"id"`
	Login  string   `json:"login"`
	Name   string   `json:"name"`
	Avatar string   `json:"avatar,omitempty"`
}

// Shared says who may watch a Session beside its Creator. People and Link are for the Creator's eyes.
type Shared struct {
	// Everyone on this Hub who can see the Session's Repo.
	Everyone bool   `json:"everyone"`
	People   []Face `json:"people,omitempty"`
	Link     bool   `json:"link" doc:"there is a link that lets its holder watch"`
}

// MaxShared bounds the people that one Session is shared with by name.
const MaxShared = 100

// SuggestionID looks like sug_06d8m….
type SuggestionID string

// NewSuggestionID makes a new id.
func NewSuggestionID() SuggestionID { return SuggestionID(newID("sug_")) }

// ParseSuggestionID accepts exactly what NewSuggestionID makes.
func ParseSuggestionID(s string) (SuggestionID, error) {
	if !validID("sug_", s) {
		return "", Errorf(NotFound, "There is no suggestion with that id.")
	}
	return SuggestionID(s), nil
}

// SuggestionState is what became of a Suggestion.
type SuggestionState string

// The states of a Suggestion. All but open are final.
const (
	SuggestionOpen      SuggestionState = "open"
	SuggestionAccepted  SuggestionState = "accepted"
	SuggestionDeclined  SuggestionState = "declined"
	SuggestionWithdrawn SuggestionState = "withdrawn"
)

// Suggestion is a prompt that a Participant proposes. It does nothing until the Creator accepts it, as it is or edited:
// the prompt is then the Creator's.
type Suggestion struct {
	ID      SuggestionID    `json:"id"`
	Session SessionID       `json:"session"`
	Author  Face            `json:"author"`
	Text    string          `json:"text"`
	State   SuggestionState `json:"state" enum:"open,accepted,declined,withdrawn"`
	Prompt  PromptID        `json:"prompt,omitempty" doc:"what it became"`
	Why     string          `json:"why,omitempty" doc:"the Creator's word on declining"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
}

// MaxSuggestions bounds those that are open in one Session, and MaxSuggestion one's text in bytes.
const (
	MaxSuggestions = 20
	MaxSuggestion  = 64 << 10
)
