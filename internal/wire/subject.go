package wire

import "claude-hub/internal/claudehub"

// Subject is the name of a stream on the bus. Ids are of known shape (letters, digits and '_'), so that none can hold
// a dot or a wildcard: each constructor refuses any other, since a tenant's id inside a subject is a boundary.
type Subject string

// RunnerSubject carries what a Runner's stream must send: ephemeral events, and a nudge that desired state changed.
func RunnerSubject(id claudehub.RunnerID) (Subject, error) {
	if _, err := claudehub.ParseRunnerID(string(id)); err != nil {
		return "", err
	}
	return Subject("hub.runner." + string(id)), nil
}

// ScreenSubject carries a Session's Frames from the Hub that the Runner posts to.
func ScreenSubject(id claudehub.SessionID) (Subject, error) {
	if _, err := claudehub.ParseSessionID(string(id)); err != nil {
		return "", err
	}
	return Subject("hub.screen." + string(id)), nil
}

// ChangeSubject carries the ids of what changed, for pages that show it.
const ChangeSubject Subject = "hub.change"

// CredentialSubject carries the ids of people some of whose credentials are good no more.
const CredentialSubject Subject = "hub.credential"

// PresenceSubject carries, between Hubs, who watches what.
const PresenceSubject Subject = "hub.presence"
