package runner

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// fakeHub is the far end of a real connection: it serves the routes that a Runner posts to, and keeps what it was
// sent.
type fakeHub struct {
	*httptest.Server
	token claudehub.Token
	rules *tokenRules

	mu       sync.Mutex
	refuse   int // status for everything, when set
	refused  int // how often
	events   map[claudehub.EventID]wire.Event
	order    []claudehub.EventID
	lose     int // answers to events that are lost on the way back
	statuses []wire.Status
	frames   []wire.Frame
	changed  chan struct{}

	seq     int64
	wishes  map[claudehub.SessionID]wire.DesiredSession
	streams map[chan string]bool
	seen    map[claudehub.SessionID]claudehub.Observed
	phases  map[claudehub.SessionID][]string // each phase and step that was reported, without repetitions
	down    bool                             // nobody gets an answer
	hook    func(wire.Event)                 // called with each event before it is answered

	machine fakeMachine
}

// patience is how long a test waits for what must happen.
const patience = 45 * time.Second

func newFakeHub(t *testing.T) *fakeHub {
	h := &fakeHub{
		token: claudehub.NewToken(claudehub.RunnerToken), rules: &tokenRules{}, events: map[claudehub.EventID]wire.Event{}, changed: make(chan struct{}),
		wishes: map[claudehub.SessionID]wire.DesiredSession{}, streams: map[chan string]bool{},
		machine: newFakeMachine(), seen: map[claudehub.SessionID]claudehub.Observed{}, phases: map[claudehub.SessionID][]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.StreamPath, h.stream)
	mux.HandleFunc("POST "+wire.StatusPath, h.status)
	mux.HandleFunc("POST "+wire.EventsPath, h.takeEvents)
	mux.HandleFunc("POST "+wire.ScreenPath, h.screen)
	mux.HandleFunc("POST "+wire.TokenPath, h.rules.give)
	h.serveMachine(mux)
	h.rules.good = h.token
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.rules.take(r) {
			problem(w, http.StatusUnauthorized, claudehub.Unauthenticated, "This Runner is not known.")
			return
		}
		h.mu.Lock()
		refuse, down := h.refuse, h.down
		h.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		if refuse != 0 {
			code := claudehub.Unavailable
			if refuse == http.StatusConflict {
				code = claudehub.Conflict
			}
			h.mu.Lock()
			h.refused++
			h.notifyLocked()
			h.mu.Unlock()
			problem(w, refuse, code, "The Hub is out of order.")
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func problem(w http.ResponseWriter, status int, code claudehub.Code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": detail, "code": code, "status": status})
}

// told waits until what the fake keeps is as wanted.
func (h *fakeHub) told(t *testing.T, what string, wanted func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		ok, next := func() (bool, chan struct{}) {
			h.mu.Lock()
			defer h.mu.Unlock() // wanted may end the test
			return wanted(), h.changed
		}()
		if ok {
			return
		}
		select {
		case <-next:
		case <-limit:
			h.mu.Lock()
			defer h.mu.Unlock()
			t.Fatalf("the Hub was not told: %s; it saw %v, and last of each %+v", what, h.phases, h.seen)
		}
	}
}

func (h *fakeHub) notifyLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *fakeHub) status(w http.ResponseWriter, r *http.Request) {
	var s wire.Status
	_ = json.NewDecoder(r.Body).Decode(&s) // what does not parse stays empty, and is seen
	h.mu.Lock()
	h.statuses = append(h.statuses, s)
	for _, o := range s.Sessions {
		h.seen[o.ID] = o.Observed
		what := string(o.Observed.Phase)
		if o.Observed.Step != nil {
			what += ": " + o.Observed.Step.Name
		}
		if list := h.phases[o.ID]; len(list) == 0 || list[len(list)-1] != what {
			h.phases[o.ID] = append(list, what)
		}
	}
	reply := h.buildsLocked(s)
	h.notifyLocked()
	h.mu.Unlock()
	_ = json.NewEncoder(w).Encode(reply)
}

func (h *fakeHub) takeEvents(w http.ResponseWriter, r *http.Request) {
	var batch wire.Events
	_ = json.NewDecoder(r.Body).Decode(&batch)
	var reply wire.EventsReply
	h.mu.Lock()
	for _, e := range batch.Events {
		if _, known := h.events[e.ID]; !known {
			h.order = append(h.order, e.ID)
			h.promptLocked(e)
		}
		h.events[e.ID] = e
		reply.Stored = append(reply.Stored, e.ID)
	}
	lose := h.lose > 0
	if lose {
		h.lose--
	}
	hook := h.hook
	h.notifyLocked()
	h.mu.Unlock()
	for _, e := range batch.Events {
		if hook != nil {
			hook(e)
		}
	}
	if lose {
		panic(http.ErrAbortHandler) // stored, and the Runner never hears of it
	}
	_ = json.NewEncoder(w).Encode(reply)
}

func (h *fakeHub) screen(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		f, err := wire.ReadFrame(r.Body)
		if err != nil {
			break
		}
		h.frames = append(h.frames, f)
	}
	h.notifyLocked()
	w.WriteHeader(http.StatusNoContent)
}
