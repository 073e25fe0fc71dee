package wire

import "claude-hub/internal/claudehub"

// Protocol is what this program speaks between Hub and Runner. Each change that the other side can notice gets a dated
// line here:
//
//	1  2026-11-29  first: stream with snapshot and Last-Event-ID, status, events, screen
//	2  2026-11-29  Environments, builds and their logs, Variables, forwards, figures, delete, reclaim. A Runner of protocol 1
//	   ignores what it does not know: its Sessions run on the default recipe.
//	3  2026-11-29  A Runner asks for its next token at TokenPath and pairs by the device flow. A desired state says who changed it. Input and Prompt have room for a
//	   signature of their author, which nobody makes yet. A Runner of protocol 2 keeps its token.
const Protocol = 3

// OldestRunner is the oldest protocol that this Hub still serves.
const OldestRunner = 1

// ProtocolHeader carries the Runner's Protocol on each of its requests.
const ProtocolHeader = "Claude-Hub-Protocol"

// InstanceHeader carries an id that a Runner process makes at its start: the lease is held by one instance.
const InstanceHeader = "Claude-Hub-Instance"

// CheckRunner refuses a Runner that is too old or too new, and says which side to update.
func CheckRunner(protocol int) error {
	switch {
	case protocol < OldestRunner:
		return claudehub.Errorf(claudehub.Conflict,
			"This Runner speaks protocol %d and the Hub needs at least %d. Update the Runner.", protocol, OldestRunner)
	case protocol > Protocol:
		return claudehub.Errorf(claudehub.Conflict,
			"This Runner speaks protocol %d and the Hub only %d. Update the Hub.", protocol, Protocol)
	}
	return nil
}
