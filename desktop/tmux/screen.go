package tmux

import "time"

const (
	frameSize = 64 << 10
	// A pane may print floodBurst at once and floodRate a second. Above that its output is left out: nobody can read it, and
	// passing it on would cost every hop. Snapshots show where it is meanwhile.
	floodBurst = 1 << 20
	floodRate  = 512 << 10
	floodPause = 150 * time.Millisecond
)

// screen turns output and snapshots into Frames. The reader's goroutine owns it.
type screen struct {
	sink    func(Frame)
	ask     func(func(*plan))
	died    func() // may be nil
	tracker *tracker

	seq        uint64
	cols, rows uint16
	delta      []byte // not yet given to sink
	synced     bool   // a Snapshot was given and nothing was left out since
	lost       bool   // tmux did not send something since the last Snapshot: the tracker knows nothing
	fresh      bool   // the next output is the first after lost
	torn       bool   // a part of a character was left out of the deltas

	dead bool // the program has ended, and died was called

	tokens   int // bytes that may be printed before it is a flood
	refilled time.Time
}

// output takes what the pane printed.
func (s *screen) output(data []byte) {
	s.tokens -= len(data)
	if s.fresh {
		data = s.wholeCharacters(data)
	}
	s.tracker.feed(data)
	if !s.synced {
		return
	}
	s.delta = append(s.delta, data...)
	if len(s.delta) >= frameSize {
		s.flush()
	}
}

// wholeCharacters drops the end of a character whose beginning was printed before we listened, and asks for a Snapshot
// that has all of it.
func (s *screen) wholeCharacters(data []byte) []byte {
	n := 0
	for n < len(data) && n < 3 && data[n]&0xc0 == 0x80 {
		n++
	}
	if n > 0 {
		s.torn = true
		s.ask(func(p *plan) { p.want(0) })
	}
	s.fresh = len(data) == 0
	return data[n:]
}

func (s *screen) flush() {
	if len(s.delta) == 0 {
		return
	}
	data := s.delta
	s.delta = nil
	seq := s.seq
	s.seq += uint64(len(data))
	s.sink(Frame{Kind: Delta, Seq: seq, Cols: s.cols, Rows: s.rows, Data: data})
}

// drained is called when all that was read has been handled.
func (s *screen) drained(now time.Time) {
	s.flush()
	s.tokens = min(s.tokens+int(now.Sub(s.refilled).Seconds()*floodRate), floodBurst)
	s.refilled = now
	if s.tokens < 0 && s.synced {
		s.gap()
		s.ask(func(p *plan) {
			p.pause, p.resumeAt, p.calmAt = true, now.Add(floodPause), now.Add(floodPause+calmTime)
		})
	}
}

// gap says that output is left out from here to the next Snapshot.
func (s *screen) gap() {
	s.flush()
	s.synced, s.lost = false, true
}

// snapshot emits tmux's answer, at its place in the stream.
func (s *screen) snapshot(r Reply, history int) error {
	s.flush()
	if s.lost {
		s.tracker.lose()
		if pending := r.Blocks[askPending].Lines; len(pending) > 0 {
			s.tracker.feed(appendUnescaped(nil, pending[0]))
		}
	}
	data, state, err := renderSnapshot(r, history, s.tracker)
	if err != nil {
		return err
	}
	cols, rows := uint16(state.cols), uint16(state.rows)
	gap := s.lost || s.torn || cols != s.cols || rows != s.rows
	s.cols, s.rows = cols, rows
	s.fresh = s.lost
	s.synced, s.lost, s.torn = true, false, false
	s.sink(Frame{Kind: Snapshot, Gap: gap, Seq: s.seq, Cols: s.cols, Rows: s.rows, Data: data})
	if state.dead && !s.dead && s.died != nil {
		s.died()
	}
	s.dead = state.dead
	return nil
}
