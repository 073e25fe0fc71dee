package claudehub

import "time"

// Person is someone who signs in. Login, name and avatar are as GitHub said at the last sign-in; a login may change hands.
type Person struct {
	ID      PersonID  `json:"id"`
	Login   string    `json:"login"`
	Name    string    `json:"name"`
	Avatar  string    `json:"avatar,omitempty"`
	Role    Role      `json:"role" enum:"member,admin"`
	GitHub  int64     `json:"github,omitempty" doc:"GitHub's numeric id, which is who the person is; absent in local mode"`
	Created time.Time `json:"created"`
	Seen    time.Time `json:"seen,omitzero" doc:"when the person last used this Hub"`
	// Removed is since when the allow-list has no room for the person: nothing opens for them.
	Removed time.Time `json:"removed,omitzero"`
}

// Face is what others see of the person.
func (p Person) Face() Face { return Face{ID: p.ID, Login: p.Login, Name: p.Name, Avatar: p.Avatar} }

// MayDrive tells whether a person may type, prompt, wake, sleep, archive or change a Session. Hub and Runner both ask.
func MayDrive(p PersonID, creator PersonID) bool { return p != "" && p == creator }
