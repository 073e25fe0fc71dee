package runner

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// fakeMachine is what the fake Hub keeps of builds, their logs, and Variables.
type fakeMachine struct {
	wish      wire.DesiredMachine
	variables []wire.Variable // of every Session and build
	asked     int             // how often for Variables
	away      bool            // and they are not given
	builds    map[claudehub.BuildID]wire.ObservedBuild
	logs      map[claudehub.BuildID][]byte
	chunks    int
	unknown   map[claudehub.BuildID]bool // builds that the Hub wants to hear nothing of
	card      claudehub.Machine
}

func newFakeMachine() fakeMachine {
	return fakeMachine{
		builds: map[claudehub.BuildID]wire.ObservedBuild{}, logs: map[claudehub.BuildID][]byte{}, unknown: map[claudehub.BuildID]bool{},
	}
}

func (h *fakeHub) serveMachine(mux *http.ServeMux) {
	variables := func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.machine.asked++
		h.notifyLocked()
		if h.machine.away {
			problem(w, http.StatusServiceUnavailable, claudehub.Unavailable, "The Hub is out of order.")
			return
		}
		_ = json.NewEncoder(w).Encode(wire.Variables{Revision: "1", Items: h.machine.variables})
	}
	mux.HandleFunc("GET "+wire.VariablesPath, variables)
	mux.HandleFunc("GET "+wire.BuildVariablesPath, variables)
	mux.HandleFunc("POST "+wire.BuildLogPath, h.buildLog)
}

// buildLog stores a part of a log as the Hub does: what goes on from what is there.
func (h *fakeHub) buildLog(w http.ResponseWriter, r *http.Request) {
	id := claudehub.BuildID(r.PathValue("id"))
	part, _ := io.ReadAll(r.Body) // one that is cut short is sent again
	from, _ := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.machine.builds[id]; !known || h.machine.unknown[id] {
		problem(w, http.StatusNotFound, claudehub.NotFound, "There is no such build.")
		return
	}
	if len(part) > wire.MaxLogChunk {
		problem(w, http.StatusRequestEntityTooLarge, claudehub.TooLarge, "That is too much.")
		return
	}
	if from == int64(len(h.machine.logs[id])) {
		h.machine.logs[id] = append(h.machine.logs[id], part...)
	}
	h.machine.chunks++
	h.notifyLocked()
	_ = json.NewEncoder(w).Encode(wire.LogReply{Offset: int64(len(h.machine.logs[id]))})
}

// buildsLocked takes a status's builds. One that is final is desired no more.
func (h *fakeHub) buildsLocked(s wire.Status) (reply wire.StatusReply) {
	h.machine.card = s.Machine
	for _, o := range s.Builds {
		if h.machine.unknown[o.ID] {
			reply.GoneBuilds = append(reply.GoneBuilds, o.ID)
			continue
		}
		h.machine.builds[o.ID] = o
		if o.State.Final() {
			h.machine.wish.Builds = slices.DeleteFunc(h.machine.wish.Builds, func(d wire.DesiredBuild) bool { return d.ID == o.ID })
		}
	}
	for _, o := range s.Sessions {
		if o.Observed.Phase == claudehub.PhaseDeleted {
			delete(h.wishes, o.ID)
		}
	}
	return reply
}

// wishMachine changes what is desired of the machine.
func (h *fakeHub) wishMachine(change func(*wire.DesiredMachine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.wish.Builds = slices.Clone(h.machine.wish.Builds)
	change(&h.machine.wish)
	h.seq++
	h.machine.wish.Seq = h.seq
	h.sendLocked(sseText(wire.EventMachine, h.seq, h.machine.wish))
}

// awaitCard waits until the machine's card is as wanted.
func (h *fakeHub) awaitCard(t *testing.T, what string, wanted func(claudehub.Machine) bool) claudehub.Machine {
	t.Helper()
	var m claudehub.Machine
	h.told(t, what, func() bool { m = h.machine.card; return wanted(m) })
	return m
}

// awaitBuild waits until a build was reported as wanted.
func (h *fakeHub) awaitBuild(t *testing.T, what string, wanted func(wire.ObservedBuild) bool) wire.ObservedBuild {
	t.Helper()
	var found wire.ObservedBuild
	h.told(t, what, func() bool {
		for _, o := range h.machine.builds {
			if wanted(o) {
				found = o
				return true
			}
		}
		return false
	})
	return found
}
