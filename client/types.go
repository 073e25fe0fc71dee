package client

import (
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The API's own types, under names that a program outside this module can use.
type (
	// Error is what every call returns when it fails.
	Error = claudehub.Error
	// Code sorts errors by what the caller can do about them.
	Code = claudehub.Code
	// Person is someone who signs in.
	Person = claudehub.Person
	// Session is one Claude Code conversation and its Sandbox.
	Session = claudehub.Session
	// SessionID names a Session.
	SessionID = claudehub.SessionID
	// Source is where a Session's workspace comes from.
	Source = claudehub.Source
	// Prompt is a text for Claude, in the queue of one Session.
	Prompt = claudehub.Prompt
	// PromptID names a Prompt.
	PromptID = claudehub.PromptID
	// Runner is a machine that runs Sessions.
	Runner = claudehub.Runner
	// RunnerID names a Runner.
	RunnerID = claudehub.RunnerID
	// Link is one hop and since when it is so.
	Link = claudehub.Link
	// Frame is a piece of one terminal's output.
	Frame = wire.Frame
	// TerminalState is the Hub's word on a terminal.
	TerminalState = wire.TerminalState
	// DeviceRequest asks for a code that a person approves.
	DeviceRequest = wire.DeviceRequest
	// DeviceCode is what a device shows, and holds.
	DeviceCode = wire.DeviceCode
	// DeviceToken is what an approved device gets.
	DeviceToken = wire.DeviceToken
	// Token is an API token as the Hub lists it: never the secret.
	Token = claudehub.APIToken
	// Scope is what a token may be used for.
	Scope = claudehub.Scope
	// PersonID names a Person.
	PersonID = claudehub.PersonID
	// Face is a person as others see them.
	Face = claudehub.Face
	// Suggestion is a prompt that a Participant proposes.
	Suggestion = claudehub.Suggestion
	// SuggestionID names a Suggestion.
	SuggestionID = claudehub.SuggestionID
)

// HubInfo is what a Hub says of itself to everybody.
type HubInfo struct {
	Version   string   `json:"version"`
	Mode      string   `json:"mode"`
	Notice    string   `json:"notice"`
	Protocol  int      `json:"protocol"`
	Models    []string `json:"models"`
	Efforts   []string `json:"efforts"`
	MaxPrompt int      `json:"max_prompt"`
	SignedIn  bool     `json:"signed_in"`
	// GitHub is where people sign in, unless the Hub is in local mode.
	GitHub *struct {
		URL string `json:"url"`
	} `json:"github,omitempty"`
}

// NewSession asks for a Session. The same Request twice gives the same Session; when empty, one is made.
type NewSession struct {
	Runner  RunnerID `json:"runner"`
	Title   string   `json:"title,omitempty"`
	Source  Source   `json:"source"`
	Model   string   `json:"model,omitempty"`
	Effort  string   `json:"effort,omitempty"`
	Prompt  string   `json:"prompt,omitempty"`
	Request string   `json:"request,omitempty"`
}

// Entry is one line of a Session's history.
type Entry struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // turn_started, turn_ended, notice
	Text string    `json:"text,omitempty"`
}

// NewToken asks for an API token. Without an end it lives until it is revoked.
type NewToken struct {
	Name    string    `json:"name"`
	Scopes  []Scope   `json:"scopes"`
	Expires time.Time `json:"expires,omitzero"`
}

// MadeToken is a new API token. The secret is shown this once.
type MadeToken struct {
	Token
	Secret string `json:"token"`
}
