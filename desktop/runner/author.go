package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
)

// What drives a Session names its author, and the Runner asks for itself whether that is the Creator: a mistake in the
// Hub, or a Hub that was told to look away, lets nobody else type. The Creator is who the Hub named when the Runner first
// saw the Session, and never another.

// mayDrive tells whether an author is the Session's Creator.
func (s *session) mayDrive(author claudehub.PersonID) bool {
	return claudehub.MayDrive(author, s.creator)
}

// driving is what was refused of someone who is not the Creator.
type driving string

// What can be refused so; as it is called in the log.
const (
	drivingInput   driving = "inputs"
	drivingResize  driving = "resizes"
	drivingPrompt  driving = "prompts"
	drivingDesired driving = "desired states"
	drivingCreator driving = "creators" // a desired state with another Creator than before
)

// refusals count what was refused for its author, and say so once a minute at the most: who floods a Session with keys
// must not flood the log as well.
type refusals struct {
	log   *slog.Logger
	every time.Duration
	wake  *signal

	mu     sync.Mutex
	counts map[driving]int
	last   claudehub.SessionID
}

const refusalsTime = time.Minute

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, every: refusalsTime, wake: newSignal(), counts: map[driving]int{}}
}

func (r *refusals) note(id claudehub.SessionID, what driving) {
	r.mu.Lock()
	r.counts[what]++
	r.last = id
	r.mu.Unlock()
	r.wake.set()
}

// Run writes the log lines until ctx ends; what was counted until then is still said.
func (r *refusals) Run(ctx context.Context) error {
	defer r.tell()
	for {
		select {
		case <-r.wake.c:
		case <-ctx.Done():
			return nil
		}
		t := time.NewTimer(r.every)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		r.tell()
	}
}

// tell says what was counted since it was said last.
func (r *refusals) tell() {
	r.mu.Lock()
	counts, last := r.counts, r.last
	r.counts = map[driving]int{}
	r.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	attrs := []any{"last_session", last}
	for _, what := range []driving{drivingInput, drivingResize, drivingPrompt, drivingDesired, drivingCreator} {
		if n := counts[what]; n > 0 {
			attrs = append(attrs, string(what), n)
		}
	}
	r.log.Warn("refused what the Hub sent in another person's name than the Creator's", attrs...)
}
