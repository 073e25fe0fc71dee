package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

// The size of a terminal that nobody has sized, so that opening one here changes nothing.
const (
	benchCols = 120
	benchRows = 36
)

// sit opens a terminal and follows it until stop. Throttle bounds how fast it takes bytes, in bytes a second; 0 does not.
func sit(ctx context.Context, r *rig.Rig, id claudehub.SessionID, throttle int) (t *rig.Terminal, stop func(), err error) {
	t, err = r.Open(ctx, id, benchCols, benchRows)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	t.Throttle = throttle
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = t.Follow(ctx) // that it ended early shows in what is waited for
	}()
	return t, func() {
		cancel()
		<-done
	}, nil
}

// seats are the two terminals of a comparison: ours, through everything, and one by hand.
func (b *bench) seats(ctx context.Context, r *rig.Rig) (s claudehub.Session, ours *rig.Terminal, hand *bare, done func(), err error) {
	if s, err = r.NewSession(ctx, "bench", ""); err != nil {
		return s, nil, nil, nil, err
	}
	shell, err := r.Shell()
	if err != nil {
		return s, nil, nil, nil, err
	}
	if hand, err = startBare(ctx, r.Home, shell, benchCols, benchRows); err != nil {
		return s, nil, nil, nil, err
	}
	ours, stop, err := sit(ctx, r, s.ID, 0)
	if err == nil {
		_, err = ours.Screen(ctx)
	}
	done = func() {
		if stop != nil {
			stop()
		}
		if err := hand.Close(ctx); err != nil {
			fmt.Fprintln(b.log, "bench: end tmux by hand:", err)
		}
	}
	if err != nil {
		done()
	}
	return s, ours, hand, done, err
}

// key measures from a key in the browser's socket to its echo there, with cat on a raw terminal echoing.
func (b *bench) key(ctx context.Context) (results []result, err error) {
	r, done, err := b.shellRig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	_, ours, hand, leave, err := b.seats(ctx, r)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, k := range []keyboard{ours, hand} {
		if err := settled(ctx, k, "stty raw -echo", "cat"); err != nil {
			return nil, err
		}
	}
	var mine, bare rounds
	for range b.pick(10, 4) {
		if err := typeKeys(ctx, ours, &mine); err != nil {
			return nil, err
		}
		if err := typeKeys(ctx, hand, &bare); err != nil {
			return nil, err
		}
	}
	const base = "tmux control mode by hand, on the host"
	p50, p99 := bare.at(50), bare.at(99)
	return []result{
		mine.timing("key-echo-p50", "key → echo, p50", 50).against(base, p50).budget(12, 3),
		mine.timing("key-echo-p99", "key → echo, p99", 99).against(base, p99).budget(40, 10),
		mine.timing("key-echo-p50-by-bare", "key → echo, p50 (4 × by hand + 2 ms)", 50).against(base, p50).budget(0, 4*p50+2),
	}, nil
}

// keysInRound is enough for a 99th percentile that is not the slowest alone.
const keysInRound = 150

// typeKeys types letters one at a time, each after the echo of the one before and a short while, as a person does.
func typeKeys(ctx context.Context, k keyboard, into *rounds) error {
	var took samples
	for i := range keysInRound {
		letter := string(rune('a' + i%26))
		k.Forget()
		at := time.Now()
		if err := k.Keys(ctx, letter); err != nil {
			return err
		}
		if err := k.Sees(ctx, letter); err != nil {
			return err
		}
		took = append(took, time.Since(at))
		if err := pause(ctx, 3*time.Millisecond+rand.N(4*time.Millisecond)); err != nil {
			return err
		}
	}
	*into = append(*into, took)
	return nil
}
