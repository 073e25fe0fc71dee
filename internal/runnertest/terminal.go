package runnertest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Terminal is a Session's terminal at the fake Runner: what is typed comes back as output. A snapshot is all output of
// this life so far, up to Tail bytes, so that a test can compare.
type Terminal struct {
	Runner  *Runner
	Session claudehub.SessionID
	Tail    int

	mu       sync.Mutex
	life     string
	out      []byte
	applied  map[string]uint64
	size     wire.Resize
	inputs   []wire.Input
	attached map[string]bool
	seen     chan struct{} // closed and made anew at each change
}

// NewTerminal starts a terminal's first life.
func (r *Runner) NewTerminal(id claudehub.SessionID) *Terminal {
	t := &Terminal{Runner: r, Session: id, Tail: 64 << 10, attached: map[string]bool{}, seen: make(chan struct{})}
	t.newLife()
	return t
}

func (t *Terminal) newLife() {
	t.life, t.out, t.applied = claudehub.NewNonce(), nil, map[string]uint64{}
}

// Restart begins another life and shows it to who is attached.
func (t *Terminal) Restart(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLife()
	return t.Runner.Screen(ctx, t.Session, t.snapshotLocked(true))
}

// Life is the present one.
func (t *Terminal) Life() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life
}

// Output is all of this life.
func (t *Terminal) Output() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.out)
}

// Inputs are those that were applied.
func (t *Terminal) Inputs() []wire.Input {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.inputs)
}

// Size is the last that was asked for.
func (t *Terminal) Size() (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size.Cols, t.size.Rows
}

// Attached is how many feeds watch.
func (t *Terminal) Attached() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.attached)
}

// Changed is closed at the next change of anything above.
func (t *Terminal) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

func (t *Terminal) changedLocked() {
	close(t.seen)
	t.seen = make(chan struct{})
}

// Write puts out bytes.
func (t *Terminal) Write(ctx context.Context, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Runner.Screen(ctx, t.Session, t.deltaLocked(data))
}

func (t *Terminal) deltaLocked(data []byte) wire.Frame {
	f := wire.Frame{Kind: wire.FrameDelta, Life: t.life, Seq: uint64(len(t.out)), Cols: 80, Rows: 24, Data: data}
	t.out = append(t.out, data...)
	t.changedLocked()
	return f
}

func (t *Terminal) snapshotLocked(fresh bool) wire.Frame {
	return wire.Frame{Kind: wire.FrameSnapshot, Fresh: fresh, Life: t.life, Seq: uint64(len(t.out)), Cols: 80, Rows: 24,
		Data: slices.Clone(t.out[max(0, len(t.out)-t.Tail):])}
}

func reportFrame(r wire.InputReport) wire.Frame {
	b, _ := json.Marshal(r) // a struct of strings and a number
	return wire.Frame{Kind: wire.FrameReport, Life: r.Life, Data: b}
}

// Handle does what one event of the stream asks of this Session; others pass.
func (t *Terminal) Handle(ctx context.Context, e Event) error {
	var named struct{ Session claudehub.SessionID }
	switch e.Kind {
	case wire.EventInput, wire.EventAttach, wire.EventDetach, wire.EventResize:
		if err := json.Unmarshal(e.Data, &named); err != nil || named.Session != t.Session {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case wire.EventInput:
		return t.input(ctx, e.Data)
	case wire.EventAttach:
		return t.attach(ctx, e.Data)
	case wire.EventDetach:
		var d wire.Detach
		err := json.Unmarshal(e.Data, &d)
		delete(t.attached, d.Feed)
		t.changedLocked()
		return err
	case wire.EventResize:
		err := json.Unmarshal(e.Data, &t.size)
		t.changedLocked()
		return err
	}
	return nil
}

func (t *Terminal) input(ctx context.Context, data []byte) error {
	var in wire.Input
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	done := t.applied[in.Terminal]
	r := wire.InputReport{Terminal: in.Terminal, Life: in.Life, N: in.N, State: wire.InputApplied}
	switch {
	case in.Life != t.life:
		r.State, r.Why = wire.InputExpired, "The terminal was restarted."
	case in.N <= done:
		r.N = done
	case in.N > done+1:
		r.State, r.Why = wire.InputRefused, "Input before it is missing."
	default:
		t.applied[in.Terminal] = in.N
		t.inputs = append(t.inputs, in)
		return t.Runner.Screen(ctx, t.Session, reportFrame(r), t.deltaLocked(in.Data))
	}
	return t.Runner.Screen(ctx, t.Session, reportFrame(r))
}

func (t *Terminal) attach(ctx context.Context, data []byte) error {
	var a wire.Attach
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	t.attached[a.Feed] = true
	t.changedLocked()
	var frames []wire.Frame
	if a.Terminal != "" {
		frames = append(frames, reportFrame(wire.InputReport{
			Terminal: a.Terminal, Life: t.life, N: t.applied[a.Terminal], State: wire.InputApplied}))
	}
	if a.Snapshot {
		frames = append(frames, t.snapshotLocked(false))
	}
	if len(frames) == 0 {
		return nil
	}
	return t.Runner.Screen(ctx, t.Session, frames...)
}

// Serve keeps the stream open, connecting again when it breaks, and handles its events, until ctx ends.
func (t *Terminal) Serve(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		s, err := t.Runner.Open(ctx, last, true)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-t.Runner.retry():
			}
			continue
		}
		for {
			e, err := s.Next()
			if err != nil {
				break
			}
			if e.ID != "" {
				last = e.ID
			}
			if err := t.Handle(ctx, e); err != nil && ctx.Err() == nil {
				t.Runner.tb.Logf("fake Runner: %s: %v", e.Kind, err)
			}
		}
		s.Close()
	}
}
