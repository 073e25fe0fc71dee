package runner

import (
	"context"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Bounds of input that waits for tmux: a person's pastes in a row, and seconds in which they must go in.
const (
	maxInputs = 256
	inputTime = 10 * time.Second
)

// inputs applies what the Creator types, in order, one at a time. Who is refused is told why.
type inputs struct {
	s *session
	c chan wire.Input

	wake   *signal
	mu     sync.Mutex
	cols   int // the newest size wanted; kept for the next life
	rows   int
	resize bool     // it is not the terminal's yet
	asked  []string // terminals that want to know what was applied
}

func newInputs(s *session) *inputs {
	return &inputs{s: s, c: make(chan wire.Input, maxInputs), wake: newSignal(), cols: defaultCols, rows: defaultRows}
}

// add takes an input from the Hub. It never waits. The Hub has asked already who types; it is asked again here, before the
// queue, so that whoever is not the Creator takes no room of theirs.
func (q *inputs) add(in wire.Input) {
	if !q.s.mayDrive(in.Author) {
		q.s.on.refused.note(q.s.id, drivingInput)
		q.refuse(in, wire.InputRefused, "Only the Creator of this Session types in it. The Runner did not type this.")
		return
	}
	select {
	case q.c <- in:
	default:
		q.refuse(in, wire.InputRefused, "Too much input is waiting; this one was not taken.")
	}
}

// size takes the newest wish for a size; of several, the last counts.
func (q *inputs) size(cols, rows int) {
	q.mu.Lock()
	q.cols, q.rows, q.resize = cols, rows, true
	q.mu.Unlock()
	q.wake.set()
}

func (q *inputs) wantedSize() (cols, rows uint16) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return uint16(q.cols), uint16(q.rows)
}

// maxAsked bounds how many terminals may wait for an answer.
const maxAsked = 64

// ask has a terminal told what was applied of its input, after all input that came before.
func (q *inputs) ask(terminal string) {
	q.mu.Lock()
	if len(q.asked) < maxAsked {
		q.asked = append(q.asked, terminal)
	}
	q.mu.Unlock()
	q.wake.set()
}

// Run applies inputs until ctx ends.
func (q *inputs) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case in := <-q.c:
			q.apply(ctx, in)
		case <-q.wake.c:
			q.drain(ctx)
			q.answerAsked(ctx)
			q.resizeNow(ctx)
		}
	}
}

// drain applies what waits now, so that an answer covers it.
func (q *inputs) drain(ctx context.Context) {
	for n := len(q.c); n > 0 && ctx.Err() == nil; n-- {
		q.apply(ctx, <-q.c)
	}
}

// answerAsked answers once there is a terminal: a Hub asks as soon as the link is up, and a Runner that starts again may
// not have its terminals by then.
func (q *inputs) answerAsked(ctx context.Context) {
	seat := q.s.sitting()
	if seat == nil {
		return
	}
	q.mu.Lock()
	asked := q.asked
	q.asked = nil
	q.mu.Unlock()
	for _, terminal := range asked {
		q.applied(ctx, seat, terminal)
	}
}

func (q *inputs) resizeNow(ctx context.Context) {
	seat := q.s.sitting()
	q.mu.Lock()
	due := q.resize && seat != nil
	q.resize = q.resize && !due
	q.mu.Unlock()
	if !due {
		return
	}
	cols, rows := q.wantedSize()
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	if err := seat.term.Resize(ctx, cols, rows); err != nil {
		q.s.log.Debug("not resized", "error", err)
	}
}

func (q *inputs) apply(ctx context.Context, in wire.Input) {
	seat := q.s.sitting()
	if seat == nil {
		q.refuse(in, wire.InputRefused, "The Session has no terminal at the moment; this was not typed.")
		return
	}
	if in.Life != seat.life {
		q.refuse(in, wire.InputExpired, "The terminal was started anew before this arrived; it was not typed.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	var err error
	switch in.Kind {
	case wire.InputKeys:
		err = seat.term.Keys(ctx, in.Terminal, in.N, in.Data)
	case wire.InputPaste:
		err = seat.term.Paste(ctx, in.Terminal, in.N, in.Data)
	default:
		err = claudehub.Errorf(claudehub.Invalid, "This kind of input is not known; update the Runner.")
	}
	if err != nil {
		q.s.log.Debug("input not applied", "terminal", in.Terminal, "n", in.N, "error", err)
		q.refuse(in, wire.InputRefused, claudehub.MessageOf(err))
		return
	}
	q.s.screen.report(wire.InputReport{Terminal: in.Terminal, Life: in.Life, N: in.N, State: wire.InputApplied})
}

func (q *inputs) refuse(in wire.Input, state wire.InputState, why string) {
	life := in.Life
	if len(life) != wire.LifeLen {
		life = claudehub.NewNonce() // it names no terminal; the report must still have the shape of one
	}
	q.s.screen.report(wire.InputReport{Terminal: in.Terminal, Life: life, N: in.N, State: state, Why: why})
}

// applied answers a terminal that came back: what was the last input that tmux took from it.
func (q *inputs) applied(ctx context.Context, seat *seat, terminal string) {
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	n, err := seat.term.Applied(ctx, terminal)
	if err != nil {
		q.s.log.Debug("applied input not known", "terminal", terminal, "error", err)
		return
	}
	q.s.screen.report(wire.InputReport{Terminal: terminal, Life: seat.life, N: n, State: wire.InputApplied})
}
