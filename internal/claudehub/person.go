package claudehub

import "time"

// Person is someone who signs in.
type Person struct {
	ID      PersonID  `json:"id"`
	Login   string    `json:"login"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// MayDrive tells whether a person may type, prompt, wake, sleep, archive or change a Session. Hub and Runner both ask.
func MayDrive(p PersonID, creator PersonID) bool { return p != "" && p == creator }

// MayWatch tells whether a person may see a Session. Until Sessions can be shared, only who may drive may watch.
func MayWatch(p PersonID, s Session) bool { return MayDrive(p, s.Creator) }
