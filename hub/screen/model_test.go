package screen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"claude-hub/hub/screen"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// wires is the bus and the fleet of a test: messages reach subscribers in order, and some are lost on demand.
type wires struct {
	mu       sync.Mutex
	subs     map[int]func(string, []byte)
	next     int
	attached []wire.Attach
	detached []wire.Detach
	inputs   []wire.Input
	resizes  []wire.Resize
	away     bool
	onAttach func(wire.Attach)
	people   []claudehub.Face
	presence func(claudehub.SessionID)
}

func newWires() *wires { return &wires{subs: map[int]func(string, []byte){}} }

func (w *wires) Publish(_ wire.Subject, kind string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.subs {
		f(kind, data)
	}
	return nil
}

func (w *wires) Subscribe(_ wire.Subject, f func(string, []byte)) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	id := w.next
	w.subs[id] = f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subs, id)
	}, nil
}

var errAway = claudehub.Errorf(claudehub.Unavailable, "The Runner is away.")

func (w *wires) Attach(_ context.Context, _ claudehub.RunnerID, a wire.Attach) error {
	w.mu.Lock()
	away, f := w.away, w.onAttach
	w.attached = append(w.attached, a)
	w.mu.Unlock()
	if away {
		return errAway
	}
	if f != nil {
		f(a)
	}
	return nil
}

func (w *wires) Detach(_ context.Context, _ claudehub.RunnerID, d wire.Detach) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detached = append(w.detached, d)
	return nil
}

func (w *wires) SendInput(_ context.Context, _ claudehub.PersonID, in wire.Input) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return errAway
	}
	w.inputs = append(w.inputs, in)
	return nil
}

func (w *wires) SendResize(_ context.Context, _ claudehub.PersonID, r wire.Resize) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resizes = append(w.resizes, r)
	return nil
}

func (w *wires) Watchers(context.Context, claudehub.SessionID) []claudehub.Face {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.people
}

func (w *wires) OnPresence(fn func(claudehub.SessionID)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.presence = fn
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.presence = nil
	}
}

// come makes other people watch.
func (w *wires) come(id claudehub.SessionID, people ...claudehub.Face) {
	w.mu.Lock()
	w.people = people
	fn := w.presence
	w.mu.Unlock()
	fn(id)
}

func (w *wires) attaches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.attached)
}

func (w *wires) snapshots() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, a := range w.attached {
		if a.Snapshot {
			n++
		}
	}
	return n
}

// terminal is the truth: all output of each life. A snapshot is the whole output of a life so far, up to a bound, so that
// a viewer's text can be compared byte by byte.
type terminal struct {
	mu    sync.Mutex
	feeds *screen.Feeds
	id    claudehub.SessionID
	life  string
	out   []byte
	lives map[string][]byte
	last  wire.Frame // the last snapshot
}

const modelTail = 2000 // bytes of output that a model's snapshot shows

func newTerminal(feeds *screen.Feeds, id claudehub.SessionID) *terminal {
	t := &terminal{feeds: feeds, id: id, lives: map[string][]byte{}}
	t.restart()
	return t
}

func (t *terminal) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life, t.out = claudehub.NewNonce(), nil
}

// write makes output and posts it, unless it is to be lost.
func (t *terminal) write(data []byte, lost, twice bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := wire.Frame{Kind: wire.FrameDelta, Life: t.life, Seq: uint64(len(t.out)), Cols: 80, Rows: 24, Data: data}
	t.out = append(t.out, data...)
	t.lives[t.life] = t.out
	if lost {
		return nil
	}
	if twice {
		if err := t.feeds.Publish(t.id, f); err != nil {
			return err
		}
	}
	return t.feeds.Publish(t.id, f)
}

func (t *terminal) snapshot(fresh bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lives[t.life] = t.out
	t.last = wire.Frame{
		Kind: wire.FrameSnapshot, Fresh: fresh, Life: t.life, Seq: uint64(len(t.out)), Cols: 80, Rows: 24,
		Data: slices.Clone(t.out[max(0, len(t.out)-modelTail):]),
	}
	return t.feeds.Publish(t.id, t.last)
}

// late posts the last snapshot once more, as a Runner does whose answer was lost; it may be of a life that is over.
func (t *terminal) late() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.Kind == 0 {
		return nil
	}
	return t.feeds.Publish(t.id, t.last)
}

func (t *terminal) answer(a wire.Attach) {
	if a.Terminal != "" {
		t.mu.Lock()
		life := t.life
		t.mu.Unlock()
		b, _ := json.Marshal(wire.InputReport{Terminal: a.Terminal, Life: life, N: 0, State: wire.InputApplied})
		_ = t.feeds.Publish(t.id, wire.Frame{Kind: wire.FrameReport, Life: life, Data: b})
	}
	if a.Snapshot {
		_ = t.snapshot(false)
	}
}

// browser follows the rules of a browser and checks each frame against the truth.
type browser struct {
	v     *screen.Viewer
	life  string
	seq   uint64
	shown []byte
	drawn uint64
	snaps int
	state *wire.TerminalState
	input []wire.InputReport
	texts []wire.TerminalDown
}

func (b *browser) take(m screen.Message, t *terminal) error {
	if m.Text != nil {
		b.texts = append(b.texts, *m.Text)
		if m.Text.State != nil {
			b.state = m.Text.State
		}
		if m.Text.Input != nil {
			b.input = append(b.input, *m.Text.Input)
		}
		return nil
	}
	f, err := wire.ReadFrame(bytes.NewReader(m.Binary))
	if err != nil {
		return err
	}
	b.drawn += uint64(len(m.Binary))
	switch f.Kind {
	case wire.FrameSnapshot:
		if f.Life == b.life && f.Seq < b.seq {
			return fmt.Errorf("a snapshot at %d after %d was shown", f.Seq, b.seq)
		}
		b.life, b.seq, b.shown = f.Life, f.Seq, slices.Clone(f.Data)
		b.snaps++
	case wire.FrameDelta:
		if b.snaps == 0 || f.Life != b.life || f.Seq != b.seq {
			return fmt.Errorf("a delta of %s at %d, expected %s at %d", f.Life, f.Seq, b.life, b.seq)
		}
		b.shown = append(b.shown, f.Data...)
		b.seq += uint64(len(f.Data))
	default:
		return errors.New("a frame that is not for browsers")
	}
	t.mu.Lock()
	truth := t.lives[b.life]
	t.mu.Unlock()
	if uint64(len(truth)) < b.seq || !bytes.HasSuffix(truth[:b.seq], b.shown[max(0, len(b.shown)-modelTail):]) {
		return fmt.Errorf("at %d the browser shows what the terminal did not", b.seq)
	}
	return nil
}

func testSession() claudehub.Session {
	return claudehub.Session{ID: claudehub.NewSessionID(), Runner: claudehub.NewRunnerID(), Creator: claudehub.NewPersonID()}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func start(t *testing.T, w *wires) (feeds *screen.Feeds, stop func()) {
	t.Helper()
	feeds = screen.New(screen.Options{Fleet: w, Bus: w, Log: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- feeds.Run(ctx) }()
	return feeds, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func who(s claudehub.Session, name string) screen.Who {
	return screen.Who{Person: s.Creator, Terminal: name, Drive: true, Cols: 80, Rows: 24}
}
