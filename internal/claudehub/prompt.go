package claudehub

import (
	"slices"
	"time"
)

// PromptState is how far a prompt has come. States only go forward.
type PromptState string

// The states of a prompt.
const (
	PromptQueued    PromptState = "queued"    // at the Hub
	PromptDelivered PromptState = "delivered" // the Runner has it, on disk
	PromptAccepted  PromptState = "accepted"  // Claude has it: UserPromptSubmit was seen
	PromptDone      PromptState = "done"      // its Turn has ended
	PromptExpired   PromptState = "expired"
	PromptCancelled PromptState = "cancelled"
	PromptFailed    PromptState = "failed"
)

// Prompt is a text for Claude, in the queue of one Session.
type Prompt struct {
	ID      PromptID  `json:"id"`
	Session SessionID `json:"session"`
	Author  PersonID  `json:"author"`
	// SuggestedBy is whose suggestion it was; accepting it made it the author's.
	SuggestedBy *Face       `json:"suggested_by,omitempty"`
	Text        string      `json:"text"`
	State       PromptState `json:"state" enum:"queued,delivered,accepted,done,expired,cancelled,failed"`
	Why         string      `json:"why,omitempty" doc:"for expired, cancelled and failed: what happened and what to do"`
	Created     time.Time   `json:"created"`
	Updated     time.Time   `json:"updated"`
	Expires     time.Time   `json:"expires"`
	// Signature is room for the author's own browser to sign the prompt, so that a Hub could not write one. Nobody does yet.
	Signature []byte `json:"signature,omitempty"`
}

// Final tells a state that nothing follows, but for one case: see Next.
func (s PromptState) Final() bool {
	return s == PromptDone || s == PromptExpired || s == PromptCancelled || s == PromptFailed
}

var promptOrder = []PromptState{PromptQueued, PromptDelivered, PromptAccepted, PromptDone}

// Next tells whether a prompt may go from one state to another. A prompt that was cancelled or expired at the Hub while
// its Runner was away may turn out to have reached Claude before: then accepted and done are the truth, and win.
func (s PromptState) Next(to PromptState) bool {
	if s == to {
		return false
	}
	i, j := slices.Index(promptOrder, s), slices.Index(promptOrder, to)
	switch {
	case s == PromptDone:
		return false
	case s.Final():
		return to == PromptAccepted || to == PromptDone
	case to.Final() && to != PromptDone:
		return true
	default:
		return j > i
	}
}
