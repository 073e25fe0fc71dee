package runner

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// fakeHub is the far end of a real connection: it serves the routes that a Runner posts to, and keeps what it was
// sent.
type fakeHub struct {
	*httptest.Server
	token claudehub.Token

	mu       sync.Mutex
	refuse   int // status for everything, when set
	events   map[claudehub.EventID]wire.Event
	order    []claudehub.EventID
	lose     int // answers to events that are lost on the way back
	statuses []wire.Status
	frames   []wire.Frame
	changed  chan struct{}
}

func newFakeHub(t *testing.T) *fakeHub {
	h := &fakeHub{
		token: claudehub.NewToken(claudehub.RunnerToken), events: map[claudehub.EventID]wire.Event{}, changed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.StatusPath, h.status)
	mux.HandleFunc("POST "+wire.EventsPath, h.takeEvents)
	mux.HandleFunc("POST "+wire.ScreenPath, h.screen)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+h.token.Reveal() {
			problem(w, http.StatusUnauthorized, claudehub.Unauthenticated, "This Runner is not known.")
			return
		}
		h.mu.Lock()
		refuse := h.refuse
		h.mu.Unlock()
		if refuse != 0 {
			problem(w, refuse, claudehub.Unavailable, "The Hub is out of order.")
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
	for {
		h.mu.Lock()
		ok, next := wanted(), h.changed
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-next:
		case <-t.Context().Done():
			t.Fatalf("the Hub was not told: %s", what)
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
	h.notifyLocked()
	h.mu.Unlock()
	_ = json.NewEncoder(w).Encode(wire.StatusReply{})
}

func (h *fakeHub) takeEvents(w http.ResponseWriter, r *http.Request) {
	var batch wire.Events
	_ = json.NewDecoder(r.Body).Decode(&batch)
	var reply wire.EventsReply
	h.mu.Lock()
	for _, e := range batch.Events {
		if _, known := h.events[e.ID]; !known {
			h.order = append(h.order, e.ID)
		}
		h.events[e.ID] = e
		reply.Stored = append(reply.Stored, e.ID)
	}
	lose := h.lose > 0
	if lose {
		h.lose--
	}
	h.notifyLocked()
	h.mu.Unlock()
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
