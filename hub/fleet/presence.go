package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Presence is in memory alone. Each Hub says of each Session who watches it there, when that changes and every beat; what
// another Hub said holds until it says something else, or is silent for too long.
const (
	attachEvery = time.Hour
	attachLimit = 5 * time.Second
)

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
