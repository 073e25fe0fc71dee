package runner

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// maxPending bounds the output that waits for the Hub, in bytes; maxBatch is what one upload takes, and maxReports how
// many answers to input may wait.
const (
	maxPending = 1 << 20
	maxBatch   = 256 << 10
	maxReports = 1024
)

// screen uploads one Session's terminal while a Hub has viewers for it. One upload is under way at a time: what comes
// meanwhile goes with the next, and the Hub's answer is the acknowledgement. When more comes than the Hub takes, the
// waiting output is dropped and a snapshot takes its place; stale bytes are never sent.
type screen struct {
	id       claudehub.SessionID
	hub      *Hub
	log      *slog.Logger
	wake     *signal
	snapshot func(history int) bool // asks the terminal for one, which arrives through add; false while there is none

	mu      sync.Mutex
	feeds   map[string]time.Time // until when each Hub process's interest holds
	frames  []wire.Frame
	pending int  // bytes in frames
	stale   bool // deltas are useless until the next snapshot
	asked   bool // that snapshot was asked for
	reports []wire.InputReport
}

func newScreen(id claudehub.SessionID, hub *Hub, log *slog.Logger, snapshot func(int) bool) *screen {
	return &screen{id: id, hub: hub, log: log, snapshot: snapshot, wake: newSignal(), feeds: map[string]time.Time{}, stale: true}
}

// attach notes a Hub process's interest and answers it with a snapshot if it wants one.
func (s *screen) attach(a wire.Attach) {
	s.mu.Lock()
	s.feeds[a.Feed] = time.Now().Add(wire.AttachLife)
	s.mu.Unlock()
	if a.Snapshot && !s.snapshot(a.History) {
		s.owe()
	}
	s.wake.set()
}

// owe has a snapshot asked for as soon as there is a terminal.
func (s *screen) owe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked()
}

func (s *screen) detach(feed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.feeds, feed)
}

// linkLost forgets every interest: those who still have one will say so on the next link.
func (s *screen) linkLost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.feeds)
	s.dropLocked()
	s.reports = nil
}

func (s *screen) watchedLocked() bool {
	now := time.Now()
	for feed, until := range s.feeds {
		if until.Before(now) {
			delete(s.feeds, feed)
		}
	}
	return len(s.feeds) > 0
}

// watched tells whether somebody has the terminal open.
func (s *screen) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchedLocked()
}

// add takes a frame from the terminal. It never waits.
func (s *screen) add(f wire.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watchedLocked() {
		s.dropLocked()
		return
	}
	if f.Kind == wire.FrameSnapshot {
		f.Fresh = f.Fresh || s.stale
		s.stale, s.asked = false, false
	}
	if s.stale {
		return
	}
	if s.pending+len(f.Data) > maxPending {
		s.dropLocked()
		s.wake.set()
		return
	}
	s.pending += len(f.Data)
	s.appendLocked(f)
	s.wake.set()
}

// appendLocked adds a frame, joined to the one before where it goes on from it.
func (s *screen) appendLocked(f wire.Frame) {
	if n := len(s.frames) - 1; n >= 0 && f.Kind == wire.FrameDelta {
		last := &s.frames[n]
		follows := last.Kind == wire.FrameDelta && last.Life == f.Life && last.Seq+uint64(len(last.Data)) == f.Seq
		if follows && len(last.Data)+len(f.Data) <= maxBatch {
			last.Data = append(last.Data, f.Data...)
			return
		}
	}
	f.Data = slices.Clip(f.Data) // a later join must not write into the reader's buffer
	s.frames = append(s.frames, f)
}

func (s *screen) dropLocked() {
	s.frames, s.pending, s.stale = nil, 0, true
	s.asked = false // the snapshot that was asked for may be among what is dropped
}

// report queues the answer to an input.
func (s *screen) report(r wire.InputReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.reports) - 1; n >= 0 && r.State == wire.InputApplied && s.reports[n].State == r.State &&
		s.reports[n].Terminal == r.Terminal && s.reports[n].Life == r.Life {
		s.reports[n].N = max(s.reports[n].N, r.N)
		s.wake.set()
		return
	}
	room := maxReports
	if r.State == wire.InputRefused {
		room /= 2 // whoever is refused without end must not take the room of what the Creator typed
	}
	if len(s.reports) < room {
		s.reports = append(s.reports, r)
	}
	s.wake.set()
}

// take returns what to upload next: answers to input first, since a person waits for them.
func (s *screen) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch []byte
	for _, r := range s.reports {
		data, err := json.Marshal(r)
		if err == nil {
			batch, err = wire.AppendFrame(batch, wire.Frame{Kind: wire.FrameReport, Life: r.Life, Data: data})
		}
		if err != nil {
			s.log.Warn("report not encoded", "error", err)
		}
	}
	s.reports = nil
	n := 0
	for n < len(s.frames) && (n == 0 || len(batch)+len(s.frames[n].Data) <= maxBatch) {
		var err error
		if batch, err = wire.AppendFrame(batch, s.frames[n]); err != nil {
			s.log.Warn("frame not encoded", "error", err)
		}
		s.pending -= len(s.frames[n].Data)
		n++
	}
	s.frames = append([]wire.Frame(nil), s.frames[n:]...)
	return batch
}

// wantsSnapshot tells, once, that output was dropped and someone watches.
func (s *screen) wantsSnapshot() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stale || s.asked || !s.watchedLocked() {
		return false
	}
	s.asked = true
	return true
}

// Run uploads until ctx ends.
func (s *screen) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		batch := s.take()
		if len(batch) == 0 {
			if s.wantsSnapshot() && !s.snapshot(0) {
				s.owe()
			}
			s.wake.wait(ctx, time.Minute)
			continue
		}
		if err := s.hub.Screen(ctx, s.id, batch); err != nil && ctx.Err() == nil {
			s.log.Debug("screen not uploaded", "session", s.id, "error", err)
			s.linkLost()
		}
	}
	return nil
}
