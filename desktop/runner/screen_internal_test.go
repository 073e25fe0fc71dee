package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// watched is a screen that somebody watches, with a count of the snapshots that it asked for.
func watched(t *testing.T) (*screen, *int) {
	t.Helper()
	asked := 0
	s := newScreen(claudehub.NewSessionID(), nil, quiet(), func(int) bool { asked++; return true })
	s.attach(wire.Attach{Feed: "feed"})
	return s, &asked
}

func decodeAll(t *testing.T, b []byte) []wire.Frame {
	t.Helper()
	var frames []wire.Frame
	for r := bytes.NewReader(b); ; {
		f, err := wire.ReadFrame(r)
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

// TestSnapshotAskedForBeforeTheTerminal: a viewer who attaches while a Runner still takes its seat gets a screen, whether
// they are the first or another has one already.
func TestSnapshotAskedForBeforeTheTerminal(t *testing.T) {
	var seated atomic.Bool
	asked := make(chan int, 8)
	s := newScreen(claudehub.NewSessionID(), nil, quiet(), func(history int) bool {
		sits := seated.Load()
		if sits {
			asked <- history
		}
		return sits
	})
	sitDown := func() { // the terminal comes, and is asked
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		seated.Store(true)
		s.wake.set()
		<-asked
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	life := claudehub.NewNonce()
	snapshot := wire.Frame{Kind: wire.FrameSnapshot, Life: life, Cols: 80, Rows: 24, Data: []byte("screen")}
	s.add(snapshot) // the Terminal's own; nobody watches
	s.attach(wire.Attach{Feed: "first", Snapshot: true})
	sitDown()

	s.add(snapshot)
	if got := len(decodeAll(t, s.take())); got != 1 {
		t.Fatalf("%d frames for the first", got)
	}
	seated.Store(false)
	s.attach(wire.Attach{Feed: "second", Snapshot: true})
	sitDown()
}

// TestUploadIsNeverStale plays random output against an upload that takes it at random moments: what is uploaded is
// always a snapshot followed by the deltas that belong to it, without a hole, and the memory stays bounded.
func TestUploadIsNeverStale(t *testing.T) {
	life := claudehub.NewNonce()
	random := rand.New(rand.NewPCG(1, 2))
	s, asked := watched(t)
	seq, next, inStep, fresh := uint64(0), uint64(0), false, 0
	for range 3000 {
		switch random.IntN(10) {
		case 0:
			if s.wantsSnapshot() {
				s.snapshot(0)
			}
			if *asked > 0 {
				*asked = 0
				s.add(wire.Frame{Kind: wire.FrameSnapshot, Life: life, Seq: seq, Cols: 80, Rows: 24, Data: []byte("screen")})
			}
		case 1, 2:
			for _, f := range decodeAll(t, s.take()) {
				switch {
				case f.Kind == wire.FrameSnapshot:
					if !inStep && !f.Fresh {
						t.Fatal("a snapshot after a gap is not marked for everybody")
					}
					if f.Fresh {
						fresh++
					}
					inStep, next = true, f.Seq
				case !inStep:
					t.Fatal("a delta before any snapshot")
				case f.Fresh || f.Seq != next:
					t.Fatalf("a delta at %d, expected %d", f.Seq, next)
				default:
					next += uint64(len(f.Data))
				}
			}
		default:
			data := make([]byte, random.IntN(200<<10))
			s.add(wire.Frame{Kind: wire.FrameDelta, Life: life, Seq: seq, Cols: 80, Rows: 24, Data: data})
			seq += uint64(len(data))
		}
		s.mu.Lock()
		if s.pending > maxPending {
			t.Fatalf("%d bytes wait", s.pending)
		}
		if s.stale {
			inStep = false
		}
		s.mu.Unlock()
	}
	if fresh < 10 {
		t.Errorf("only %d fresh snapshots: the queue hardly overflowed", fresh)
	}
}

func TestNothingIsKeptWhileNobodyWatches(t *testing.T) {
	s, _ := watched(t)
	s.detach("feed")
	s.add(wire.Frame{Kind: wire.FrameSnapshot, Life: claudehub.NewNonce(), Data: []byte("x")})
	if b := s.take(); len(b) != 0 {
		t.Errorf("%d bytes are uploaded for nobody", len(b))
	}
	if s.wantsSnapshot() {
		t.Error("a snapshot is wanted for nobody")
	}
}

func TestReportsJoinAndStayInOrder(t *testing.T) {
	s, _ := watched(t)
	life := claudehub.NewNonce()
	for n := uint64(1); n <= 5; n++ {
		s.report(wire.InputReport{Terminal: "a", Life: life, N: n, State: wire.InputApplied})
	}
	s.report(wire.InputReport{Terminal: "a", Life: life, N: 6, State: wire.InputRefused, Why: "test"})
	var got []wire.InputReport
	for _, f := range decodeAll(t, s.take()) {
		var r wire.InputReport
		if err := json.Unmarshal(f.Data, &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 2 || got[0].N != 5 || got[1].N != 6 || got[1].State != wire.InputRefused {
		t.Errorf("reports: %+v", got)
	}
}

func TestJoinedDeltasDoNotShareMemory(t *testing.T) {
	s, _ := watched(t)
	life := claudehub.NewNonce()
	s.add(wire.Frame{Kind: wire.FrameSnapshot, Life: life, Data: []byte("s")})
	buffer := []byte("abcdef")
	s.add(wire.Frame{Kind: wire.FrameDelta, Life: life, Seq: 0, Data: buffer[:3]})
	s.add(wire.Frame{Kind: wire.FrameDelta, Life: life, Seq: 3, Data: []byte("XYZ")})
	if string(buffer) != "abcdef" {
		t.Errorf("the reader's buffer was written to: %s", buffer)
	}
	frames := decodeAll(t, s.take())
	if len(frames) != 2 || string(frames[1].Data) != "abcXYZ" {
		t.Errorf("frames: %v", frames)
	}
}

// TestSnapshotIsAskedForAgain: the one that was asked for may have come when nobody was known to watch.
func TestSnapshotIsAskedForAgain(t *testing.T) {
	s, _ := watched(t)
	if !s.wantsSnapshot() {
		t.Fatal("no snapshot is wanted at first")
	}
	s.linkLost() // an upload failed
	s.add(wire.Frame{Kind: wire.FrameSnapshot, Life: claudehub.NewNonce(), Data: []byte("x")})
	s.attach(wire.Attach{Feed: "feed"}) // the Hub renews, and asks for nothing
	if !s.wantsSnapshot() {
		t.Error("the viewer waits for a snapshot that nobody asks for")
	}
}
