package screen_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/screen"
	"claude-hub/internal/wire"
)

// TestEachViewerShowsTheTruth runs random interleavings of output, losses, repeats, restarts, cuts, slow and leaving
// viewers, and checks each byte of each browser.
func TestEachViewerShowsTheTruth(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) { interleave(t, rand.New(rand.NewPCG(seed, 1)), seed) })
	}
}

func FuzzEachViewerShowsTheTruth(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		synctest.Test(t, func(t *testing.T) { interleave(t, rand.New(rand.NewPCG(a, b)), a) })
	})
}

func interleave(t *testing.T, rnd *rand.Rand, seed uint64) {
	w := newWires()
	feeds, stop := start(t, w)
	defer stop()
	sess := testSession()
	term := newTerminal(feeds, sess.ID)
	// The Runner answers an attach later, in an order of its own with the output.
	var asks sync.WaitGroup
	defer asks.Wait()
	var mu sync.Mutex
	w.onAttach = func(a wire.Attach) {
		mu.Lock()
		delay := time.Duration(rnd.IntN(50)) * time.Millisecond
		lost := rnd.IntN(20) == 0
		mu.Unlock()
		asks.Go(func() {
			time.Sleep(delay)
			if !lost {
				term.answer(a)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	browsers := make([]*browser, 4)
	for i := range browsers {
		v, err := feeds.Join(ctx, sess, who(sess, string(rune('a'+i))))
		if err != nil {
			t.Fatal(err)
		}
		b := &browser{v: v}
		browsers[i] = b
		slow := time.Duration(i*i*i) * 7 * time.Millisecond // for each message; the first is quick, the last hopeless
		wg.Go(func() {
			for {
				m, err := b.v.Next(ctx)
				if errors.Is(err, context.Canceled) {
					return
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				time.Sleep(slow)
				if err := b.take(m, term); err != nil {
					t.Errorf("seed %d viewer %d: %v", seed, i, err)
					return
				}
				if err := b.v.Ack(b.drawn); err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
			}
		})
	}
	for range 300 {
		mu.Lock()
		act, size, pause := rnd.IntN(40), rnd.IntN(60_000), time.Duration(rnd.IntN(20))*time.Millisecond
		mu.Unlock()
		data := make([]byte, 1+size)
		for i := range data {
			data[i] = byte(i*7 + size)
		}
		switch act {
		case 0:
			term.restart()
		case 1:
			_ = term.snapshot(true)
		case 2:
			cutBus(w)
		case 3:
			_ = term.snapshot(false)
		case 6:
			_ = term.late()
		default:
			if err := term.write(data, act == 4, act == 5); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(pause)
	}
	// Quiet: everyone comes to the same screen.
	_ = term.write([]byte("the end"), false, false)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	cancel()
	wg.Wait()
	for i, b := range browsers {
		if b.life != term.life || b.seq != uint64(len(term.out)) {
			t.Errorf("seed %d: viewer %d shows %s at %d, the terminal is at %s %d", seed, i, b.life, b.seq, term.life, len(term.out))
		}
		b.v.Leave()
	}
}

// cutBus does to subscribers what the bus does to one that fell behind.
func cutBus(w *wires) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, f := range w.subs {
		delete(w.subs, id)
		f(bus.Cut, nil)
	}
}

var _ screen.Bus = (*bus.Bus)(nil)
