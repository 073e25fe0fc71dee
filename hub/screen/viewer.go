package screen

import (
	"context"
	"regexp"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Who is a viewer: one terminal of one person.
type Who struct {
	Person   claudehub.PersonID
	Terminal string // made by the browser; the same after a reconnect
	Drive    bool   // may type
	Active   bool   // takes the size at once
	Cols     int
	Rows     int
}

var terminalName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

func (w Who) valid() error {
	if !terminalName.MatchString(w.Terminal) {
		return claudehub.Errorf(claudehub.Invalid, "A terminal's name has 1 to 64 small letters, digits and hyphens.")
	}
	return nil
}

type viewerState int

const (
	wantsSnapshot viewerState = iota // deltas are of no use to it
	inStep                           // the next delta is at next
	behind                           // too much unacknowledged: nothing until it has caught up
)

// Message is what goes to the browser next: a Frame in Binary, or a text.
type Message struct {
	Binary []byte
	Text   *wire.TerminalDown
}

type item struct {
	frame wire.Frame
	enc   []byte
}

// Viewer is one terminal that watches, and may type. One goroutine calls Next and another the rest; all of it is guarded
// by the feed's lock.
type Viewer struct {
	feed *feed
	who  Who
	wake chan struct{}

	state      viewerState
	next       uint64 // where the next delta begins, while in step
	queue      []item
	queued     int // bytes in queue
	sent       uint64
	acked      uint64
	limit      int // of what is queued and unacknowledged
	cols, rows int // of the window
	stateDirty bool
	texts      []wire.TerminalDown
	wantReport bool
	err        error
}

func (v *Viewer) poke() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Leave ends the viewer; Next returns no more.
func (v *Viewer) Leave() { v.feed.leave(v) }

// Next waits for what to send next. Texts go before output, so that an answer is not held up by a flood.
func (v *Viewer) Next(ctx context.Context) (Message, error) {
	for {
		if m, ok, err := v.pop(); ok || err != nil {
			if m.Text != nil && m.Text.State != nil {
				m.Text.State.Watchers = v.feed.feeds.opt.Fleet.Watchers(ctx, v.feed.session) // outside of the lock
			}
			return m, err
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

func (v *Viewer) pop() (Message, bool, error) {
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	switch {
	case v.err != nil:
		return Message{}, false, v.err
	case v.stateDirty:
		v.stateDirty = false
		return Message{Text: &wire.TerminalDown{Type: "state", State: v.stateLocked()}}, true, nil
	case len(v.texts) > 0:
		t := v.texts[0]
		v.texts = v.texts[1:]
		return Message{Text: &t}, true, nil
	case len(v.queue) > 0:
		b := v.coalesceLocked()
		v.sent += uint64(len(b))
		v.feed.feeds.bytes.Add(uint64(len(b)))
		return Message{Binary: b}, true, nil
	}
	return Message{}, false, nil
}

func (v *Viewer) stateLocked() *wire.TerminalState {
	f := v.feed
	return &wire.TerminalState{
		Drive: v.who.Drive, Owner: f.owner == v, Cols: f.cols, Rows: f.rows, Viewers: len(f.viewers),
		Runner: f.runnerLink, Sandbox: f.sandboxLink,
	}
}

// coalesceLocked takes the first item and, while the socket was busy and more deltas came, those that follow it, as one.
func (v *Viewer) coalesceLocked() []byte {
	first := v.queue[0]
	n, size := 1, len(first.frame.Data)
	for first.frame.Kind == wire.FrameDelta && n < len(v.queue) {
		f := v.queue[n].frame
		if f.Cols != first.frame.Cols || f.Rows != first.frame.Rows || size+len(f.Data) > maxCoalesced {
			break
		}
		size += len(f.Data)
		n++
	}
	enc := first.enc
	if n > 1 {
		joined := first.frame
		joined.Data = make([]byte, 0, size)
		for _, it := range v.queue[:n] {
			joined.Data = append(joined.Data, it.frame.Data...)
		}
		enc, _ = wire.AppendFrame(make([]byte, 0, size+wire.FrameHeader), joined) // within bounds, see maxCoalesced
	}
	for _, it := range v.queue[:n] {
		v.queued -= len(it.enc)
	}
	clear(v.queue[:n])
	v.queue = v.queue[n:]
	return enc
}

func (v *Viewer) unackedLocked() int { return int(v.sent - v.acked) }

func (v *Viewer) snapshotLocked(f wire.Frame, enc []byte) {
	if v.state == behind || v.state == inStep && !f.Fresh && v.next == f.Seq {
		return
	}
	if v.unackedLocked() > wire.ViewerWindow {
		v.behindLocked()
		return
	}
	v.state, v.next = inStep, f.Seq
	clear(v.queue)
	v.queue = append(v.queue[:0], item{f, enc})
	v.queued = len(enc)
	v.limit = wire.ViewerWindow + len(enc) // the snapshot itself never puts a viewer behind
	v.poke()
}

func (v *Viewer) deltaLocked(f wire.Frame, enc []byte) {
	switch {
	case v.state != inStep:
	case v.next != f.Seq:
		v.feed.askLocked(v)
	case v.unackedLocked()+v.queued+len(enc) > v.limit:
		v.behindLocked()
	default:
		v.queue = append(v.queue, item{f, enc})
		v.queued += len(enc)
		v.next += uint64(len(f.Data))
		v.poke()
	}
}

func (v *Viewer) behindLocked() {
	v.feed.feeds.behind.Add(1)
	v.state, v.queue, v.queued = behind, nil, 0
	v.caughtUpLocked()
}

func (v *Viewer) caughtUpLocked() {
	if v.state == behind && v.unackedLocked() <= wire.ViewerResume {
		v.feed.askLocked(v)
	}
}

// Ack says how many bytes of binary messages the browser has drawn in all.
func (v *Viewer) Ack(n uint64) error {
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	if n > v.sent {
		return claudehub.Errorf(claudehub.Invalid, "The terminal acknowledged more than it was sent.")
	}
	v.acked = max(v.acked, n)
	if v.acked == v.sent {
		v.limit = wire.ViewerWindow + v.queued
	}
	v.caughtUpLocked()
	return nil
}

// Pong answers a ping of the page.
func (v *Viewer) Pong(id uint64) { v.text(wire.TerminalDown{Type: "pong", ID: id}) }

// Refuse tells the page that a message was not acted on.
func (v *Viewer) Refuse(err error) {
	v.text(wire.TerminalDown{Type: "refused", Why: claudehub.MessageOf(err)})
}

func (v *Viewer) text(t wire.TerminalDown) {
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	v.textLocked(t)
}

func (v *Viewer) textLocked(t wire.TerminalDown) {
	if len(v.texts) >= maxTexts {
		v.endLocked(errSlow)
		return
	}
	v.texts = append(v.texts, t)
	v.poke()
}

// reportLocked queues a report. One that says the same of more input takes the place of the last of its kind, so that
// however fast somebody types, few wait; none overtakes a refusal.
func (v *Viewer) reportLocked(r wire.InputReport) {
	for i := len(v.texts) - 1; i >= 0 && progress(r.State); i-- {
		last := v.texts[i].Input
		if last != nil && !progress(last.State) {
			break
		}
		if last != nil && last.State == r.State && last.Life == r.Life && last.N <= r.N {
			v.texts[i].Input = &r
			return
		}
	}
	v.textLocked(wire.TerminalDown{Type: "input", Input: &r})
}

// progress tells the states that the same state of later input says as well.
func progress(s wire.InputState) bool { return s == wire.InputApplied || s == wire.InputDelivered }

func (v *Viewer) endLocked(err error) {
	if v.err == nil {
		v.err = err
	}
	v.poke()
}
