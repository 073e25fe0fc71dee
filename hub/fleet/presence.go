package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Presence is in memory alone. Each Hub says of each Session who watches it there, when that changes and every beat; what
// another Hub said holds until it says something else, or is silent for too long.
const (
	beatEvery    = 20 * time.Second
	beatDead     = 60 * time.Second
	maxPresent   = 200 // people of one Session that one Hub speaks of
	maxElsewhere = 20_000
	attachEvery  = time.Hour
	attachLimit  = 5 * time.Second
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

// Presence is who watches a Session now.
type Presence struct {
	Session  claudehub.SessionID `json:"session"`
	Watchers []claudehub.Face    `json:"watchers"`
}

type presence struct {
	mu        sync.Mutex
	here      map[claudehub.SessionID]*present
	elsewhere map[farKey]far
	follow    map[int]func(owner claudehub.PersonID, id claudehub.SessionID)
	next      int
	beat      time.Time
	hearing   bool   // what other Hubs say; not so at first and after the bus cut us off
	stop      func() // ends the last subscription

	say sync.Mutex // held from looking at who is here until that is said, so that the last word is the newest
}

// present are those who watch one Session at this Hub.
type present struct {
	owner  claudehub.PersonID
	people map[claudehub.PersonID]*presentPerson
}

type presentPerson struct {
	face  claudehub.Face
	count int // of their terminals
}

type farKey struct {
	hub     string
	session claudehub.SessionID
}

type far struct {
	owner  claudehub.PersonID
	people []claudehub.Face
	seen   time.Time
}

func newPresence() *presence {
	return &presence{here: map[claudehub.SessionID]*present{}, elsewhere: map[farKey]far{},
		follow: map[int]func(claudehub.PersonID, claudehub.SessionID){}}
}

// Enter says that a person has a terminal of a Session open; the caller has asked whether they may. That a Participant does
// is written into the audit log, once an hour.
func (f *Fleet) Enter(ctx context.Context, p claudehub.Face, id claudehub.SessionID) (leave func()) {
	ctx, cancel := context.WithTimeout(ctx, attachLimit)
	defer cancel()
	s, err := f.st.Read().Session(ctx, id)
	if err != nil {
		f.log.Warn("it cannot be told who watches a Session", "session", id, "err", err)
		return func() {}
	}
	if p.ID != s.Creator {
		f.noteAttach(ctx, p, id)
	}
	f.present(s.Creator, id, p, 1)
	return sync.OnceFunc(func() { f.present(s.Creator, id, p, -1) })
}

func (f *Fleet) noteAttach(ctx context.Context, p claudehub.Face, id claudehub.SessionID) {
	const action = "session.attach"
	ctx = asActor(ctx, p.ID)
	err := f.st.Write(ctx, func(q store.Q) error {
		last, err := q.AuditAfter(ctx, 0, store.AuditFilter{Actor: string(p.ID), Action: action, Target: string(id), From: f.now().Add(-attachEvery), Limit: 1})
		if err != nil || len(last) > 0 {
			return err
		}
		return f.note(ctx, q, action, string(id), nil)
	})
	if err != nil {
		f.log.Error("who watches a Session is not in the audit log", "session", id, "err", err)
	}
}

// present counts a person's terminals, and tells it when they came or went.
func (f *Fleet) present(owner claudehub.PersonID, id claudehub.SessionID, p claudehub.Face, n int) {
	if f.presence.count(owner, id, p, n) {
		f.sayPresent(id, owner)
		f.presence.tell(owner, id)
	}
}

// count returns whether who is present changed.
func (r *presence) count(owner claudehub.PersonID, id claudehub.SessionID, p claudehub.Face, n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.here[id]
	if s == nil {
		s = &present{owner: owner, people: map[claudehub.PersonID]*presentPerson{}}
		r.here[id] = s
	}
	one := s.people[p.ID]
	if one == nil {
		one = &presentPerson{}
		s.people[p.ID] = one
	}
	before := one.count
	one.face, one.count = p, one.count+n
	if one.count > 0 {
		return before == 0
	}
	delete(s.people, p.ID)
	if len(s.people) == 0 {
		delete(r.here, id)
	}
	return true
}

// Watchers are the people with a terminal of a Session open, each once, at whichever Hub.
func (f *Fleet) Watchers(_ context.Context, id claudehub.SessionID) []claudehub.Face {
	return f.presence.watchers(id, f.now())
}

func (r *presence) watchers(id claudehub.SessionID, now time.Time) []claudehub.Face {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[claudehub.PersonID]claudehub.Face{}
	for k, o := range r.elsewhere {
		if k.session == id && now.Sub(o.seen) < beatDead {
			for _, face := range o.people {
				all[face.ID] = face
			}
		}
	}
	for _, face := range r.hereLocked(id) {
		all[face.ID] = face
	}
	return sortFaces(slices.Collect(maps.Values(all)))
}

func (r *presence) hereLocked(id claudehub.SessionID) []claudehub.Face {
	out := []claudehub.Face{}
	if s := r.here[id]; s != nil {
		for _, p := range s.people {
			out = append(out, p.face)
		}
	}
	return sortFaces(out)
}

func sortFaces(all []claudehub.Face) []claudehub.Face {
	slices.SortFunc(all, func(a, b claudehub.Face) int { return cmp.Or(cmp.Compare(a.Login, b.Login), cmp.Compare(a.ID, b.ID)) })
	return append([]claudehub.Face{}, all...)
}

// OnPresence calls fn when other people than before watch a Session. It must be quick.
func (f *Fleet) OnPresence(fn func(claudehub.SessionID)) (stop func()) {
	return f.presence.listen(func(_ claudehub.PersonID, id claudehub.SessionID) { fn(id) })
}

func (r *presence) listen(fn func(claudehub.PersonID, claudehub.SessionID)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.next
	r.next++
	r.follow[n] = fn
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.follow, n)
	}
}

// tell calls who follows, outside of the lock: they ask back.
func (r *presence) tell(owner claudehub.PersonID, id claudehub.SessionID) {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.follow))
	r.mu.Unlock()
	for _, fn := range all {
		fn(owner, id)
	}
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
