package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/coder/websocket"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	ackAt     = 32 << 10 // bytes drawn and not yet acknowledged
	ackWithin = 80 * time.Millisecond
	writeTime = 10 * time.Second
)

// line is a terminal's side of the protocol: one connection at a time, frames that follow each other, drawn bytes
// acknowledged, input numbered, one size. Run's goroutine owns it.
//
// Its name lasts as long as it does, so that the Runner knows after a reconnect what it has applied of its input.
type line struct {
	t     *Terminal
	name  string
	queue inputQueue
	pause backoff

	conn  *conn // nil while there is none
	up    bool
	retry time.Time
	hub   Link
	why   string
	state *TerminalState
	owner bool // this terminal's size was the one in force, when it was last told

	life         string
	seq          uint64
	drawn, acked uint64
	ackDue       time.Time
	told         [2]int

	pinged   uint64
	pongless time.Time // since when the oldest ping has no answer; zero when none is out
	pingDue  time.Time
}

func newLine(t *Terminal) *line {
	l := &line{t: t, name: claudehub.NewNonce(), pause: backoff{timing: t.client.timing}, hub: t.Status().Hub}
	l.queue = inputQueue{
		timing: t.client.timing, now: time.Now, send: l.send, lost: l.notice,
		renew: func() { l.name = claudehub.NewNonce(); l.queue.renumber(); l.drop(nil) },
	}
	return l
}

func (l *line) run(ctx context.Context) error {
	defer l.release()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		if l.conn == nil && !time.Now().Before(l.retry) {
			l.conn = l.connect(ctx)
		}
		alarm.Reset(time.Until(l.alarm()))
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case do := <-l.t.asks:
			do(l)
		case m := <-l.messages():
			err = l.take(m)
		case <-alarm.C:
			l.tick()
		}
		if err != nil {
			return err
		}
	}
}

// alarm is when something is next to be done by itself.
func (l *line) alarm() time.Time {
	next := time.Now().Add(time.Minute)
	for _, at := range []time.Time{l.queue.due, l.ackDue, l.pingDue} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	if l.conn == nil && l.retry.Before(next) {
		next = l.retry
	}
	return next
}

func (l *line) tick() {
	now := time.Now()
	l.queue.tick()
	if !l.ackDue.IsZero() && !now.Before(l.ackDue) {
		l.ack()
	}
	if !l.pingDue.IsZero() && !now.Before(l.pingDue) {
		l.ping(now)
	}
}

func (l *line) messages() <-chan message {
	if l.conn == nil {
		return nil
	}
	return l.conn.messages
}

// take acts on what the connection brought. An error ends the terminal.
func (l *line) take(m message) error {
	switch {
	case m.err != nil:
		if final(m.err) {
			return m.err
		}
		l.drop(m.err)
	case m.opened:
		l.opened()
	case m.kind == websocket.MessageBinary:
		l.binary(m.data)
	default:
		l.text(m.data)
	}
	return nil
}

func (l *line) opened() {
	l.up = true
	l.drawn, l.acked, l.ackDue = 0, 0, time.Time{}
	l.hub, l.why = Link{State: claudehub.LinkUp, Since: time.Now()}, ""
	cols, rows := l.t.size()
	l.told = [2]int{cols, rows}
	// A terminal that was just opened takes the size; one that comes back takes it only when it had it.
	active := cols > 0 && (l.life == "" || l.owner)
	l.send(wire.TerminalUp{Type: "hello", Terminal: l.name, Cols: cols, Rows: rows, Active: active})
	if !l.up {
		return
	}
	l.pongless, l.pingDue = time.Time{}, time.Now().Add(l.pause.ping)
	l.changed()
}

func (l *line) text(data []byte) {
	var m wire.TerminalDown
	if err := json.Unmarshal(data, &m); err != nil {
		l.drop(claudehub.WithCause(claudehub.Unavailable, err, "The Hub said something that is not a terminal's message."))
		return
	}
	switch {
	case m.Type == "state" && m.State != nil:
		l.pause.reset() // the Hub took the hello: this is a working connection
		l.setState(*m.State)
	case m.Type == "input" && m.Input != nil && m.Input.Terminal == l.name:
		l.queue.report(*m.Input)
	case m.Type == "pong" && m.ID == l.pinged:
		l.pongless = time.Time{}
	case m.Type == "refused" && m.Why != "":
		l.notice(printable(m.Why, maxSentence))
	}
}

func (l *line) setState(s TerminalState) {
	was := hopsUp(l.state)
	l.state, l.owner = &s, s.Owner
	switch {
	case !hopsUp(&s):
		l.queue.stop()
	case !was:
		l.queue.opened()
	}
	if s.Owner {
		l.tellSize()
	}
	l.changed()
}

func hopsUp(s *TerminalState) bool {
	return s != nil && s.Runner.State == claudehub.LinkUp && s.Sandbox.State == claudehub.LinkUp
}

func (l *line) typing() bool {
	return l.up && l.state != nil && l.state.Drive && hopsUp(l.state) && l.life != "" && !l.t.watch
}

// binary hands on all frames of one message, and notes it as drawn.
func (l *line) binary(data []byte) {
	r := bytes.NewReader(data)
	for r.Len() > 0 {
		f, err := wire.ReadFrame(r)
		if err == nil && f.Kind != wire.FrameSnapshot && f.Kind != wire.FrameDelta {
			err = io.ErrNoProgress
		}
		if err != nil || !l.follows(f) {
			l.drop(claudehub.WithCause(claudehub.Unavailable, err, "The screen did not come whole; it is fetched again."))
			return
		}
		if l.t.on.Frame != nil {
			l.t.on.Frame(f)
		}
	}
	l.drawn += uint64(len(data))
	if l.drawn-l.acked >= ackAt {
		l.ack()
	} else if l.ackDue.IsZero() {
		l.ackDue = time.Now().Add(ackWithin)
	}
}

// follows takes a snapshot as it is, and a delta only where the last frame ended.
func (l *line) follows(f Frame) bool {
	if f.Kind == wire.FrameDelta {
		if f.Life != l.life || f.Seq != l.seq {
			return false
		}
		l.seq += uint64(len(f.Data))
		return true
	}
	first := l.life == ""
	l.life, l.seq = f.Life, f.Seq
	l.queue.seen(f.Life)
	if first {
		l.changed()
	}
	return true
}

func (l *line) ack() {
	l.acked, l.ackDue = l.drawn, time.Time{}
	l.send(wire.TerminalUp{Type: "ack", Bytes: l.drawn})
}

func (l *line) ping(now time.Time) {
	if !l.pongless.IsZero() && now.Sub(l.pongless) > l.pause.dead {
		l.drop(claudehub.Errorf(claudehub.Unavailable, "The Hub at %s does not answer any more.", l.t.client.URL()))
		return
	}
	l.pingDue = now.Add(l.pause.ping)
	if l.pongless.IsZero() {
		l.pongless = now
		l.pinged++
	}
	l.send(wire.TerminalUp{Type: "ping", ID: l.pinged})
}

// tellSize tells a size that is new.
func (l *line) tellSize() {
	cols, rows := l.t.size()
	if !l.up || cols == 0 || l.told == [2]int{cols, rows} {
		return
	}
	l.told = [2]int{cols, rows}
	l.send(wire.TerminalUp{Type: "size", Cols: cols, Rows: rows})
}

func (l *line) claim() {
	l.told = [2]int{}
	l.tellSize()
	l.send(wire.TerminalUp{Type: "claim"})
}

func (l *line) send(up wire.TerminalUp) {
	if !l.up {
		return
	}
	if err := l.conn.send(up); err != nil {
		l.drop(l.t.client.unreachable(err))
	}
}

// drop lets go of the connection, and has another made after a pause.
func (l *line) drop(why error) {
	if l.conn == nil {
		return
	}
	if l.hub.State == claudehub.LinkUp {
		l.hub = Link{State: claudehub.LinkDown, Since: time.Now()}
	}
	if why != nil {
		l.why = claudehub.MessageOf(why)
	}
	l.release()
	l.retry = time.Now().Add(max(l.pause.next(), RetryAfter(why)))
	l.changed()
}

func (l *line) release() {
	if l.conn == nil {
		return
	}
	c := l.conn
	l.conn, l.up, l.state = nil, false, nil
	l.ackDue, l.pingDue = time.Time{}, time.Time{}
	l.queue.stop()
	c.close()
}

func (l *line) changed() {
	s := TerminalStatus{Hub: l.hub, Why: l.why, State: l.state, Drawn: l.life != "", Typing: l.typing()}
	l.t.mu.Lock()
	l.t.status = s
	l.t.mu.Unlock()
	if l.t.on.Changed != nil {
		l.t.on.Changed(s)
	}
}

func (l *line) notice(text string) {
	if l.t.on.Notice != nil {
		l.t.on.Notice(text)
	}
}
