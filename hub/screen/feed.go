package screen

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var (
	errStopping = claudehub.Errorf(claudehub.Unavailable, "The Hub is stopping. The terminal comes back by itself.")
	errReplaced = claudehub.Errorf(claudehub.Conflict, "This terminal was opened again in another connection.")
	errSlow     = claudehub.Errorf(claudehub.TooMany, "This connection is too slow for what it asks. The terminal comes back by itself.")
)

// feed is one Session's screen in this Hub process. The bus and the viewers change it under mu and never wait; its loop
// (loop.go) does what takes time.
type feed struct {
	feeds   *Feeds
	session claudehub.SessionID
	runner  claudehub.RunnerID
	subject wire.Subject
	nonce   string
	wake    chan struct{}

	mu      sync.Mutex
	closed  bool
	viewers []*Viewer
	owner   *Viewer

	// The screen as the frames tell it. pos is the end of all output seen in life; frames of past lives are dropped.
	life       string
	past       []string
	pos        uint64
	cols, rows int

	runnerLink, sandboxLink claudehub.Link

	// What the loop has to do.
	subscribed bool // to the bus; not so at first and after it cut us
	ask        bool // a snapshot is wanted and not yet asked for
	asked      bool // and is on its way, since askedAt
	askedAt    time.Time
	terminals  []*Viewer // whose last applied input has to be asked for
	resize     bool      // the owner's size has to be sent
}

func newFeed(fs *Feeds, s claudehub.Session, subject wire.Subject) *feed {
	return &feed{
		feeds:       fs,
		session:     s.ID,
		runner:      s.Runner,
		subject:     subject,
		nonce:       claudehub.NewNonce(),
		wake:        make(chan struct{}, 1),
		sandboxLink: s.Observed.SandboxLink,
	}
}

func (f *feed) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// join returns nil without an error when the feed has ended.
func (f *feed) join(w Who) (*Viewer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil
	}
	for _, o := range f.viewers {
		if o.who.Terminal == w.Terminal && o.who.Person == w.Person {
			o.endLocked(errReplaced)
		}
	}
	if len(f.viewers) >= maxViewers {
		return nil, claudehub.Errorf(claudehub.TooMany, "%d people and windows watch this Session already. Close one of them.", maxViewers)
	}
	v := &Viewer{feed: f, who: w, wake: make(chan struct{}, 1), limit: wire.ViewerWindow, cols: w.Cols, rows: w.Rows}
	f.viewers = append(f.viewers, v)
	if w.Drive {
		v.wantReport = true
		f.terminals = append(f.terminals, v)
		if f.owner == nil || w.Active {
			f.ownLocked(v)
		}
	}
	f.askLocked(v)
	f.stateLocked()
	f.poke()
	return v, nil
}

// askLocked makes a viewer wait for a snapshot.
func (f *feed) askLocked(v *Viewer) {
	v.state, v.queue, v.queued = wantsSnapshot, nil, 0
	if !f.asked || time.Since(f.askedAt) > retryFirst {
		f.ask = true
		f.poke()
	}
}

// stateLocked tells everyone anew what is beside the bytes.
func (f *feed) stateLocked() {
	for _, v := range f.viewers {
		v.stateDirty = true
		v.poke()
	}
}

func (f *feed) links(runner, sandbox claudehub.Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runnerLink == runner && f.sandboxLink == sandbox {
		return
	}
	up := runner.State == claudehub.LinkUp && f.runnerLink.State != claudehub.LinkUp ||
		sandbox.State == claudehub.LinkUp && f.sandboxLink.State != claudehub.LinkUp
	f.runnerLink, f.sandboxLink = runner, sandbox
	f.stateLocked()
	if up {
		// What was sent before may not have arrived, and the Runner may be another process that knows nothing of us.
		f.ask, f.asked = true, false
		f.resize = f.owner != nil
		f.terminals = nil
		for _, v := range f.viewers {
			if v.who.Drive {
				v.wantReport = true
				f.terminals = append(f.terminals, v)
			}
		}
		f.poke()
	}
}

// receive gets all that the bus brings, one at a time.
func (f *feed) receive(kind string, data []byte) {
	switch kind {
	case bus.Cut:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subscribed = false
		f.gapLocked()
		f.poke()
	case KindFrame:
		frame, err := wire.ReadFrame(bytes.NewReader(data))
		if err != nil {
			f.feeds.opt.Log.Error("screen frame on the bus", "session", f.session, "err", err)
			return
		}
		if frame.Kind == wire.FrameReport {
			f.report(frame.Data)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.frameLocked(frame, data)
	}
}

// gapLocked notes that output was lost.
func (f *feed) gapLocked() {
	f.feeds.gaps.Add(1)
	f.resyncLocked()
}

// resyncLocked makes everyone wait for a snapshot, but who is behind.
func (f *feed) resyncLocked() {
	f.asked = false
	for _, v := range f.viewers {
		if v.state != behind {
			f.askLocked(v)
		}
	}
}

func (f *feed) report(data []byte) {
	var r wire.InputReport
	if err := json.Unmarshal(data, &r); err != nil {
		f.feeds.opt.Log.Error("input report of a Runner", "session", f.session, "err", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.viewers {
		if v.who.Drive && v.who.Terminal == r.Terminal {
			v.wantReport = false
			v.reportLocked(r)
		}
	}
}

// frameLocked takes a snapshot or a delta; enc is its encoding.
func (f *feed) frameLocked(frame wire.Frame, enc []byte) {
	if !f.lifeLocked(frame) {
		return
	}
	if c, r := int(frame.Cols), int(frame.Rows); c > 0 && r > 0 && (c != f.cols || r != f.rows) {
		f.cols, f.rows = c, r
		f.stateLocked()
	}
	if frame.Kind == wire.FrameSnapshot {
		f.snapshotLocked(frame, enc)
		return
	}
	end := frame.Seq + uint64(len(frame.Data))
	switch {
	case end <= f.pos: // sent again after an answer was lost
		return
	case frame.Seq < f.pos:
		frame.Data = frame.Data[f.pos-frame.Seq:]
		frame.Seq = f.pos
		enc, _ = wire.AppendFrame(nil, frame) // it is shorter than it was
	case frame.Seq > f.pos:
		f.pos = end
		f.gapLocked()
		return
	}
	f.pos = end
	for _, v := range f.viewers {
		v.deltaLocked(frame, enc)
	}
}

// lifeLocked follows the terminal's lives and refuses frames of one that is over.
func (f *feed) lifeLocked(frame wire.Frame) bool {
	if frame.Life == f.life {
		return true
	}
	if slices.Contains(f.past, frame.Life) {
		return false
	}
	if f.life != "" {
		f.past = append(f.past, f.life)
		if len(f.past) > pastLives {
			f.past = slices.Delete(f.past, 0, 1)
		}
	}
	f.life, f.pos = frame.Life, 0
	f.resize = f.owner != nil
	f.poke()
	if frame.Kind == wire.FrameDelta {
		f.pos = frame.Seq
		f.feeds.gaps.Add(1) // what came before it in this life is not known here
	}
	f.resyncLocked() // nobody is in step with a life that begins, even where the one that ended came to the same number
	return true
}

func (f *feed) snapshotLocked(frame wire.Frame, enc []byte) {
	f.asked = false
	if frame.Seq < f.pos {
		// It came late or twice, and the screen has moved on: who still wants one asks again.
		if slices.ContainsFunc(f.viewers, func(v *Viewer) bool { return v.state == wantsSnapshot }) {
			f.ask = true
			f.poke()
		}
		return
	}
	f.pos, f.ask = frame.Seq, false
	for _, v := range f.viewers {
		v.snapshotLocked(frame, enc)
	}
}

// ownLocked makes a viewer's size the one in force.
func (f *feed) ownLocked(v *Viewer) {
	if f.owner == v {
		return
	}
	f.owner = v
	f.resize = true
	f.stateLocked()
	f.poke()
}

func (f *feed) leave(v *Viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers = slices.DeleteFunc(f.viewers, func(o *Viewer) bool { return o == v })
	f.terminals = slices.DeleteFunc(f.terminals, func(o *Viewer) bool { return o == v })
	if f.owner == v {
		f.owner = nil
	}
	f.stateLocked()
	f.poke()
}

// end is the feed's last act: nobody can join any more, and who is here is told why.
func (f *feed) end(err error) {
	f.feeds.forget(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, v := range f.viewers {
		v.endLocked(err)
	}
}

// needsLocked tells whether anyone waits for an answer of the Runner.
func (f *feed) needsLocked() bool {
	return slices.ContainsFunc(f.viewers, func(v *Viewer) bool { return v.state == wantsSnapshot || v.wantReport })
}

// sizeLocked is the owner's wish; ok is false when there is none.
func (f *feed) sizeLocked() (r wire.Resize, ok bool) {
	o := f.owner
	if o == nil || claudehub.ValidSize(o.cols, o.rows) != nil {
		return wire.Resize{}, false
	}
	return wire.Resize{Session: f.session, Author: o.who.Person, Cols: o.cols, Rows: o.rows}, true
}

// plan is what the loop does next, outside the lock.
type plan struct {
	subscribe bool
	attach    []wire.Attach
	resize    *wire.Resize
	over      bool
	wait      time.Duration
}
