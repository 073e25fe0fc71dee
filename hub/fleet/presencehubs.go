package fleet

import (
	"encoding/json"
	"slices"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// This is presence between Hubs.

const (
	beatEvery    = 20 * time.Second
	beatDead     = 60 * time.Second
	maxPresent   = 200 // people of one Session that one Hub speaks of
	maxElsewhere = 20_000
)

// Kinds of message on wire.PresenceSubject.
const (
	presentKind = "present" // a presentMessage
	helloKind   = "hello"   // a Hub began, and asks who is where
)

type presentMessage struct {
	Hub     string              `json:"hub"`
	Session claudehub.SessionID `json:"session"`
	Owner   claudehub.PersonID  `json:"owner"`
	People  []claudehub.Face    `json:"people"`
}

// sayPresent tells the other Hubs who watches a Session here.
func (f *Fleet) sayPresent(id claudehub.SessionID, owner claudehub.PersonID) {
	f.presence.say.Lock()
	defer f.presence.say.Unlock()
	f.presence.mu.Lock()
	people := f.presence.hereLocked(id)
	f.presence.mu.Unlock()
	f.publish(wire.PresenceSubject, presentKind, presentMessage{Hub: f.hub, Session: id, Owner: owner, People: people[:min(len(people), maxPresent)]})
}

func (f *Fleet) sayAll() {
	f.presence.mu.Lock()
	owners := map[claudehub.SessionID]claudehub.PersonID{}
	for id, s := range f.presence.here {
		owners[id] = s.owner
	}
	f.presence.mu.Unlock()
	for id, owner := range owners {
		f.sayPresent(id, owner)
	}
}

// beat is one tick: it hears the other Hubs again when the bus had cut it off, says who is here, and forgets Hubs that are
// silent.
func (f *Fleet) beat() error {
	now := f.now()
	if err := f.hearPresence(); err != nil {
		return err
	}
	f.presence.mu.Lock()
	due := now.Sub(f.presence.beat) >= beatEvery || now.Before(f.presence.beat)
	if due {
		f.presence.beat = now
	}
	dead := map[claudehub.SessionID]claudehub.PersonID{}
	for k, o := range f.presence.elsewhere {
		if now.Sub(o.seen) >= beatDead {
			dead[k.session] = o.owner
			delete(f.presence.elsewhere, k)
		}
	}
	f.presence.mu.Unlock()
	for id, owner := range dead {
		f.presence.tell(owner, id)
	}
	if due {
		f.sayAll()
	}
	return nil
}

// hearPresence subscribes, unless it is; and asks who is where.
func (f *Fleet) hearPresence() error {
	r := f.presence
	r.mu.Lock()
	on := r.hearing
	r.hearing = true // before: the bus may cut us off at once
	r.mu.Unlock()
	if on {
		return nil
	}
	stop, err := f.bus.Subscribe(wire.PresenceSubject, f.heardPresence)
	r.mu.Lock()
	if err == nil {
		r.stop = stop
	} else {
		r.hearing = false
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return f.send(wire.PresenceSubject, helloKind, presentMessage{Hub: f.hub})
}

func (f *Fleet) heardPresence(kind string, data []byte) {
	if kind == bus.Cut {
		f.presence.mu.Lock()
		f.presence.hearing = false
		f.presence.mu.Unlock()
		return
	}
	var m presentMessage
	if err := json.Unmarshal(data, &m); err != nil || m.Hub == f.hub {
		return
	}
	switch kind {
	case helloKind:
		f.sayAll()
	case presentKind:
		if f.presence.put(m, f.now()) {
			f.presence.tell(m.Owner, m.Session)
		}
	}
}

// put takes what another Hub says, and returns whether it is news.
func (r *presence) put(m presentMessage, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := farKey{m.Hub, m.Session}
	old, known := r.elsewhere[k]
	switch {
	case len(m.People) == 0:
		delete(r.elsewhere, k)
		return known
	case !known && len(r.elsewhere) >= maxElsewhere:
		return false
	}
	r.elsewhere[k] = far{m.Owner, m.People, now}
	return !slices.Equal(old.people, m.People)
}

// stopPresence is the end of this Hub: nobody watches here any more.
func (f *Fleet) stopPresence() {
	f.presence.mu.Lock()
	stop := f.presence.stop
	f.presence.stop, f.presence.hearing = nil, false
	owners := map[claudehub.SessionID]claudehub.PersonID{}
	for id, s := range f.presence.here {
		owners[id] = s.owner
	}
	f.presence.mu.Unlock()
	if stop != nil {
		stop()
	}
	for id, owner := range owners {
		f.publish(wire.PresenceSubject, presentKind, presentMessage{Hub: f.hub, Session: id, Owner: owner, People: []claudehub.Face{}})
	}
}
