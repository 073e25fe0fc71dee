package main

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

// fill is a screen and its history in colours.
const fill = `i=0; while [ $i -lt 1500 ]; do printf '\033[3%dmline %d of a coloured log with some text in it\033[m\r\n' $((i%7)) $i; i=$((i+1)); done`

// attach measures from dialling the browser's socket to its first screen: of a Session that nobody watches, and of one
// that somebody does. By hand, it is asking a control client that is attached already for its screen and history.
func (b *bench) attach(ctx context.Context) (results []result, err error) {
	r, done, err := b.shellRig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	s, ours, hand, leave, err := b.seats(ctx, r)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, k := range []keyboard{ours, hand} {
		if err := settled(ctx, k, fill, ":"); err != nil {
			return nil, err
		}
	}
	var second, bare samples
	for range b.pick(40, 10) {
		if err := firstScreen(ctx, r, s.ID, &second); err != nil {
			return nil, err
		}
		if err := bareScreen(ctx, hand, &bare); err != nil {
			return nil, err
		}
	}
	first, err := b.unwatched(ctx, r)
	if err != nil {
		return nil, err
	}
	const base = "capture-pane by hand, attached already"
	return []result{
		timing("attach-second", "attach → first screen, watched by another", second, 50).against(base, bare.median()).budget(54, 15),
		timing("attach-first", "attach → first screen, nobody watching", first, 50).against(base, bare.median()).budget(54, 15),
	}, nil
}

// unwatched measures the first viewer of a Session that nobody watches: the Hub has forgotten it, and the Runner uploads
// nothing.
func (b *bench) unwatched(ctx context.Context, r *rig.Rig) (first samples, err error) {
	s, err := r.NewSession(ctx, "bench", "")
	if err != nil {
		return nil, err
	}
	t, stop, err := sit(ctx, r, s.ID, 0)
	if err != nil {
		return nil, err
	}
	if _, err = t.Screen(ctx); err == nil {
		err = settled(ctx, t, fill, ":")
	}
	stop()
	for range b.pick(8, 2) {
		if err != nil {
			return nil, err
		}
		if err = pause(ctx, lingerTime); err == nil {
			err = firstScreen(ctx, r, s.ID, &first)
		}
	}
	return first, err
}

// lingerTime is longer than a Hub keeps the screen of a Session whose last viewer has left.
const lingerTime = 6 * time.Second

func firstScreen(ctx context.Context, r *rig.Rig, id claudehub.SessionID, into *samples) error {
	at := time.Now()
	t, stop, err := sit(ctx, r, id, 0)
	if err != nil {
		return err
	}
	defer stop()
	when, err := t.Screen(ctx)
	if err != nil {
		return err
	}
	*into = append(*into, when.Sub(at))
	return nil
}

func bareScreen(ctx context.Context, hand *bare, into *samples) error {
	hand.Forget()
	at := time.Now()
	if err := hand.send("capture-pane -p -e -S -1000 -t %%0"); err != nil {
		return err
	}
	if err := hand.Sees(ctx, answered); err != nil {
		return err
	}
	*into = append(*into, time.Since(at))
	return nil
}
