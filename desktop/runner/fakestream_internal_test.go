package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The fake Hub's stream, and what is desired.

func sseText(kind string, seq int64, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test's own message
	}
	if seq > 0 {
		return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", seq, kind, data)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data)
}

func (h *fakeHub) stream(w http.ResponseWriter, r *http.Request) {
	c := make(chan string, 1000)
	h.mu.Lock()
	all := wire.Snapshot{Seq: h.seq, Machine: h.machine.wish}
	for _, d := range h.wishes {
		all.Sessions = append(all.Sessions, d)
	}
	h.streams[c] = true
	h.notifyLocked()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.streams, c)
		h.notifyLocked()
	}()
	text := sseText(wire.EventSnapshot, all.Seq, all)
	for {
		_, _ = w.Write([]byte(text)) // a Runner that is gone ends the request
		_ = http.NewResponseController(w).Flush()
		select {
		case text = <-c:
		case <-r.Context().Done():
			return
		}
	}
}

func (h *fakeHub) sendLocked(text string) {
	for c := range h.streams {
		c <- text
	}
}

// say sends what is not kept.
func (h *fakeHub) say(kind string, v any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sendLocked(sseText(kind, 0, v))
}

// wish changes what is desired of a Session, which it makes if needed.
func (h *fakeHub) wish(id claudehub.SessionID, change func(*wire.DesiredSession)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wishLocked(id, change)
}

func (h *fakeHub) wishLocked(id claudehub.SessionID, change func(*wire.DesiredSession)) {
	d, known := h.wishes[id]
	if !known {
		d = wire.DesiredSession{ID: id, Creator: claudehub.NewPersonID(), Desired: claudehub.WantAwake, Generation: 1}
	}
	d.Prompts = slices.Clone(d.Prompts)
	change(&d)
	h.seq++
	d.Seq = h.seq
	h.wishes[id] = d
	h.sendLocked(sseText(wire.EventDesired, d.Seq, d))
}

// promptLocked does with a report what the Hub does: a prompt whose state is final is named no more.
func (h *fakeHub) promptLocked(e wire.Event) {
	if e.Kind != wire.ReportPrompt {
		return
	}
	h.wishLocked(e.Session, func(d *wire.DesiredSession) {
		i := slices.IndexFunc(d.Prompts, func(p claudehub.Prompt) bool { return p.ID == e.Prompt })
		if i < 0 {
			return
		}
		if d.Prompts[i].State = e.State; e.State.Final() {
			d.Prompts = slices.Delete(d.Prompts, i, i+1)
		}
	})
}

// prompt queues a prompt of the Creator.
func (h *fakeHub) prompt(id claudehub.SessionID, text string) claudehub.PromptID {
	p := queued(text)
	h.wish(id, func(d *wire.DesiredSession) {
		p.Author = d.Creator
		d.Prompts = append(d.Prompts, p)
	})
	return p.ID
}

// states lists what was reported of a prompt, each report once.
func (h *fakeHub) statesLocked(id claudehub.PromptID) []claudehub.PromptState {
	var states []claudehub.PromptState
	for _, e := range h.order {
		if h.events[e].Prompt == id {
			states = append(states, h.events[e].State)
		}
	}
	return states
}

// awaitPrompt waits until the last report of a prompt is as wanted.
func (h *fakeHub) awaitPrompt(t *testing.T, id claudehub.PromptID, wanted claudehub.PromptState) {
	t.Helper()
	h.told(t, fmt.Sprintf("prompt is %s", wanted), func() bool {
		states := h.statesLocked(id)
		return len(states) > 0 && states[len(states)-1] == wanted
	})
}

// await waits until a Session was reported as wanted.
func (h *fakeHub) await(t *testing.T, id claudehub.SessionID, what string, wanted func(claudehub.Observed) bool) claudehub.Observed {
	t.Helper()
	var o claudehub.Observed
	h.told(t, what, func() bool { o = h.seen[id]; return wanted(o) })
	return o
}

func (h *fakeHub) awaitPhase(t *testing.T, id claudehub.SessionID, phase claudehub.Phase) claudehub.Observed {
	t.Helper()
	return h.await(t, id, string(phase), func(o claudehub.Observed) bool {
		if f := o.Failure; f != nil && o.Generation >= h.wishes[id].Generation && phase != claudehub.PhaseFailed {
			t.Fatalf("the Session failed: %s: %s %s", f.Step, f.Reason, f.Detail)
		}
		return o.Phase == phase
	})
}

// screenOf waits for output of a Session that has the text, and returns its terminal's life.
func (h *fakeHub) screenOf(t *testing.T, what string, seen func(text string) bool) (life string) {
	t.Helper()
	h.told(t, "screen: "+what, func() bool {
		var text []byte
		for _, f := range h.frames {
			switch f.Kind {
			case wire.FrameSnapshot:
				text, life = slices.Clone(f.Data), f.Life
			case wire.FrameDelta:
				text = append(text, f.Data...)
			}
		}
		return life != "" && seen(string(text))
	})
	return life
}

// reportOf waits for the answer to an input.
func (h *fakeHub) reportOf(t *testing.T, terminal string, n uint64) wire.InputReport {
	t.Helper()
	var got wire.InputReport
	h.told(t, fmt.Sprintf("what became of input %d of %s", n, terminal), func() bool {
		for _, f := range h.frames {
			var r wire.InputReport
			if f.Kind == wire.FrameReport && json.Unmarshal(f.Data, &r) == nil && r.Terminal == terminal && r.N == n {
				got = r
				return true
			}
		}
		return false
	})
	return got
}
