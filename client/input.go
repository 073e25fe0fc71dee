package client

import (
	"encoding/base64"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// inputMode: what is typed goes out at once (flow); it is kept until the Runner says what it has applied, or patience
// ends, and then all of it goes out (ask); a hop is down and nothing goes (hold); this life has ended (over).
type inputMode int

const (
	hold inputMode = iota
	flow
	ask
	over
)

// Bounds of input that is not applied yet.
const (
	maxPending  = 2000
	maxHeld     = 4 << 20
	maxRefusals = 4 // in a row, while every hop is up
	maxPatience = time.Minute
)

const restarted = "Not sent: the terminal was restarted."

type pending struct {
	n    uint64
	kind string
	data string
}

// inputQueue numbers what is typed, and keeps it until the Runner has applied it. Within one life of the terminal the
// Runner applies each number once and in order, so sending again is always safe; into another life nothing is sent again.
// One goroutine owns it; time is what its owner says.
type inputQueue struct {
	send  func(wire.TerminalUp)
	lost  func(why string)
	renew func() // asks for a connection with a new terminal name: this numbering has a hole
	now   func() time.Time
	timing

	life     string
	next     uint64
	pending  []pending
	held     int
	mode     inputMode
	early    *wire.InputReport
	wait     time.Duration
	due      time.Time // when it is tried again; zero for never
	refusals int
}

// seen tells which life of the terminal the person sees now.
func (q *inputQueue) seen(life string) {
	if life == q.life {
		return
	}
	q.life, q.next = life, 1
	q.drop(restarted)
	if q.mode != hold {
		q.mode = flow
	}
	early := q.early
	q.early = nil
	if early != nil && early.Life == life {
		q.report(*early)
	}
}

// opened: every hop is up, after a new connection or after a break further on. What was on its way may be gone.
func (q *inputQueue) opened() {
	q.mode = ask
	if q.next <= 1 {
		q.mode = flow
	}
	q.wait = q.patience
	q.arm()
}

// stop: a hop is down.
func (q *inputQueue) stop() {
	q.mode, q.early, q.due = hold, nil, time.Time{}
}

// renumber begins again at 1, for a new terminal name.
func (q *inputQueue) renumber() { q.next, q.early = 1, nil }

func (q *inputQueue) keys(b []byte) {
	for len(b) > 0 {
		n := min(len(b), claudehub.MaxKeys)
		q.add("keys", base64.StdEncoding.EncodeToString(b[:n]))
		b = b[n:]
	}
}

func (q *inputQueue) paste(text string) { q.add("paste", text) }

func (q *inputQueue) add(kind, data string) {
	switch {
	case q.mode == over:
		q.lost(restarted)
		return
	case len(q.pending) >= maxPending || q.held+len(data) > maxHeld:
		q.lost("Not sent: too much is still on its way to the terminal.")
		return
	}
	p := pending{max(q.next, 1), kind, data}
	q.next = p.n + 1
	q.pending = append(q.pending, p)
	q.held += len(data)
	if q.mode == flow {
		q.put(p)
	}
	if len(q.pending) == 1 {
		q.arm()
	}
}

func (q *inputQueue) put(p pending) {
	q.send(wire.TerminalUp{Type: p.kind, N: p.n, Life: q.life, Data: p.data})
}

// report takes the word on what became of input.
func (q *inputQueue) report(r wire.InputReport) {
	if r.Life != q.life {
		q.early = &r
		return
	}
	if r.State == wire.InputApplied {
		q.applied(r.N)
	}
	if len(q.pending) == 0 || q.pending[0].n > r.N {
		q.arm() // about input that is settled already
		return
	}
	switch r.State {
	case wire.InputRefused:
		q.refused(r.Why)
		return
	case wire.InputExpired:
		q.mode = over
		q.drop(orElse(r.Why, restarted))
	}
	q.arm()
}

func (q *inputQueue) applied(n uint64) {
	for len(q.pending) > 0 && q.pending[0].n <= n {
		q.held -= len(q.pending[0].data)
		q.pending = q.pending[1:]
		q.refusals, q.wait = 0, q.patience
	}
	q.next = max(q.next, n+1)
	if q.mode == ask {
		q.again()
	}
}

// refused: a hop may have broken just now, so it is tried again before it is given up.
func (q *inputQueue) refused(why string) {
	if q.mode == ask {
		return // the later messages of the same burst
	}
	q.refusals++
	if q.refusals >= maxRefusals {
		q.refusals = 0
		q.drop(orElse(why, "Not sent: the terminal did not take it."))
		q.renew()
		return
	}
	if q.mode == flow {
		q.mode = ask
		q.wait = q.refusal << (q.refusals - 1)
		q.arm()
	}
}

func (q *inputQueue) again() {
	q.mode = flow
	for _, p := range q.pending {
		q.put(p)
	}
}

func (q *inputQueue) drop(why string) {
	waited := len(q.pending) > 0
	q.pending, q.held = nil, 0
	if waited {
		q.lost(why)
	}
}

// arm watches the oldest input: a message can get lost without any hop noticing.
func (q *inputQueue) arm() {
	q.due = time.Time{}
	if q.mode == ask || q.mode == flow && len(q.pending) > 0 {
		q.due = q.now().Add(q.wait)
	}
}

// tick is called when due has come.
func (q *inputQueue) tick() {
	if q.due.IsZero() || q.now().Before(q.due) {
		return
	}
	q.wait = min(q.wait*2, maxPatience)
	q.again()
	q.arm()
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
