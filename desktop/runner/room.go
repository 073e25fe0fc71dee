package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// roomLimit is how long a Session waits for room.
const roomLimit = 24 * time.Hour

// What the room for awake Sessions is counted with. A VM keeps what its guest once touched, so that it counts with all
// that it may have. Processes that share this machine's kernel take what they use: a Session with Claude Code was seen at
// 235 to 570 MB, and its tools come on top.
const (
	keptForMachine   = 2 << 30
	workingEstimate  = 1 << 30
	smallestEstimate = 256 << 20
)

// room bounds how many Sessions are awake, so that they do not push each other out of the machine's memory. Who wants in
// waits in line; the first comes first, also when a later one would fit.
type room struct {
	count  int   // how many, when the machine's owner said; 0 lets the memory decide
	budget int64 // bytes for all of them
	usual  int64 // what one more is taken to need, when nobody asks yet

	mu   sync.Mutex
	in   map[claudehub.SessionID]int64
	line []*waiter
}

type waiter struct {
	id     claudehub.SessionID
	needs  int64
	turn   chan struct{} // closed when it is in
	before int
}

// newRoom sizes it by a number, or by the machine's memory and what the usual Session needs.
func newRoom(count int, memory, usual int64) *room {
	return &room{
		count: count, budget: memory - min(keptForMachine, memory/4), usual: max(usual, smallestEstimate),
		in: map[claudehub.SessionID]int64{},
	}
}

// needs is what a Session of so much memory counts with.
func needs(backend sandbox.Backend, memory int64) int64 {
	if !isVM(backend) {
		return min(memory, workingEstimate)
	}
	return memory
}

// isVM tells that a Sandbox has a kernel, and with it a clock, of its own.
func isVM(b sandbox.Backend) bool { return b.Name() != "bubblewrap" }

func (r *room) fitsLocked(needs int64) bool {
	if r.count > 0 {
		return len(r.in) < r.count
	}
	sum := needs
	for _, n := range r.in {
		sum += n
	}
	return len(r.in) == 0 || sum <= r.budget
}

// size is how many are in, and how many could be.
func (r *room) size() (in, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sizeLocked()
}

func (r *room) sizeLocked() (in, most int) {
	if r.count > 0 {
		return len(r.in), r.count
	}
	left := r.budget
	for _, n := range r.in {
		left -= n
	}
	return len(r.in), max(1, len(r.in)+int(max(0, left)/r.usual))
}

// hold counts a Session that is awake already, whether there is room or not.
func (r *room) hold(id claudehub.SessionID, needs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in[id] = needs
}

// leave gives a Session's room to who waits.
func (r *room) leave(id claudehub.SessionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.in, id)
	r.admitLocked()
}

func (r *room) admitLocked() {
	for len(r.line) > 0 && r.fitsLocked(r.line[0].needs) {
		w := r.line[0]
		r.line = r.line[1:]
		r.in[w.id] = w.needs
		close(w.turn)
	}
}

// ask lets a Session in, or puts it at the end of the line. One that is in already stays so.
func (r *room) ask(id claudehub.SessionID, needs int64) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &waiter{id: id, needs: needs, turn: make(chan struct{}), before: len(r.line)}
	if _, ok := r.in[id]; ok {
		r.in[id] = needs
		close(w.turn)
		return w
	}
	r.line = append(r.line, w)
	r.admitLocked()
	return w
}

// giveUp takes a waiter out of the line. It may have come in by then: it leaves again.
func (r *room) giveUp(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line, w); i >= 0 {
		r.line = slices.Delete(r.line, i, i+1)
	} else {
		delete(r.in, w.id)
	}
	r.admitLocked()
}

func (w *waiter) isIn() bool {
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

// findRoom returns when the Session may be awake, and shows that it waits for that.
func (s *session) findRoom(ctx context.Context, memory int64) error {
	w := s.on.room.ask(s.id, needs(s.on.cfg.Backend, memory))
	if w.isIn() {
		return nil
	}
	in, most := s.on.room.size()
	name := fmt.Sprintf("Waiting for room: %d of %d Sessions are awake", in, max(in, most))
	if most > in {
		name = fmt.Sprintf("Waiting for room: %d Sessions are awake, and this one needs more memory than they leave", in)
	}
	err := s.step(ctx, claudehub.PhasePreparing, name, roomLimit, func(ctx context.Context, progress func(string, float64)) error {
		if w.before > 0 {
			progress(fmt.Sprintf("%d others came before it", w.before), -1)
		}
		select {
		case <-w.turn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		s.on.room.giveUp(w)
	}
	return err
}
