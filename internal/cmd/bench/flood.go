package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claude-hub/internal/rig"
	"claude-hub/internal/wire"
)

const (
	slowViewer = 50 << 10 // bytes a second
	// quietTime is how long nothing comes before a flood counts as over.
	quietTime = 400 * time.Millisecond
)

// flood measures from Ctrl-C to the last byte of a flood, typed by a fast viewer while a slow one watches too, and what
// the flood does to the memory of each hop.
func (b *bench) flood(ctx context.Context) (results []result, err error) {
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
	slow, stop, err := sit(ctx, r, s.ID, slowViewer)
	if err != nil {
		return nil, err
	}
	defer stop()
	hops, err := floodHops(r, ours)
	if err != nil {
		return nil, err
	}
	long := time.Duration(b.pick(10, 3)) * time.Second
	var mine, bare, late samples
	memory := newGrowth(hops)
	if err := memory.before(); err != nil {
		return nil, err
	}
	for range b.pick(5, 3) {
		stop := watch(ctx, hops)
		at, err := floodOnce(ctx, ours, long, &mine)
		if err != nil {
			return nil, err
		}
		if err := slow.Sees(ctx, at.mark); err != nil {
			return nil, fmt.Errorf("the slow viewer: %w", err)
		}
		late = append(late, time.Since(at.stopped))
		peaks, err := stop()
		if err != nil {
			return nil, err
		}
		if err := memory.after(peaks); err != nil {
			return nil, err
		}
		if _, err := floodOnce(ctx, hand, long/2, &bare); err != nil {
			return nil, err
		}
	}
	const base = "tmux control mode by hand, on the host"
	results = []result{
		timing("flood-quiet", "flood: Ctrl-C → quiet", mine, 50).against(base, bare.median()).budget(1000, 200).
			noted("%s of yes, two viewers, one at 50 KB/s; worst %s ms", long, figure(mine.at(99))),
		timing("flood-slow-viewer", "flood: Ctrl-C → the slow viewer has the end", late, 50).
			noted("up to %d KB may be under way to it, at 50 KB/s", wire.ViewerWindow>>10),
	}
	return append(results, memory.results()...), nil
}

func floodHops(r *rig.Rig, t *rig.Terminal) ([]hop, error) {
	mux, guest, err := terminalProcesses(t.Life())
	if err != nil {
		return nil, err
	}
	return []hop{{"Hub", []int{r.HubPID()}}, {"Runner", []int{r.RunnerPID()}}, guest, mux}, nil
}

type flooded struct {
	stopped time.Time
	mark    string // shown after it
}

var floods int

// floodOnce lets yes run, stops it, and waits until the shell answers again.
func floodOnce(ctx context.Context, k keyboard, long time.Duration, into *samples) (flooded, error) {
	if err := settled(ctx, k, ":", "yes"); err != nil {
		return flooded{}, err
	}
	if err := pause(ctx, long); err != nil {
		return flooded{}, err
	}
	at := time.Now()
	if err := k.Keys(ctx, "\x03"); err != nil {
		return flooded{}, err
	}
	last, err := k.QuietFor(ctx, quietTime)
	if err != nil {
		return flooded{}, err
	}
	*into = append(*into, max(last.Sub(at), 0))
	floods++
	mark := fmt.Sprintf("flood-%d-over", floods)
	k.Forget()
	if err := k.Keys(ctx, fmt.Sprintf("echo flood-%d'-'over\r", floods)); err != nil {
		return flooded{}, err
	}
	return flooded{stopped: at, mark: mark}, k.Sees(ctx, mark)
}

// growth follows the memory of hops from flood to flood.
type growth struct {
	hops          []hop
	start         []float64
	peaks, afters [][]float64 // by flood, then by hop
}

func newGrowth(hops []hop) *growth { return &growth{hops: hops} }

func (g *growth) now() ([]float64, error) {
	all := make([]float64, len(g.hops))
	for i, h := range g.hops {
		var err error
		if all[i], err = h.resident(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (g *growth) before() (err error) {
	g.start, err = g.now()
	return err
}

func (g *growth) after(peaks []float64) error {
	all, err := g.now()
	g.peaks, g.afters = append(g.peaks, peaks), append(g.afters, all)
	return err
}

// flatMB is how much a hop's peak may differ from the first flood to the last and still be called flat.
const flatMB = 8

// results say how much higher each hop's peak was in the last flood than in the first: flat memory does not rise.
func (g *growth) results() []result {
	all := make([]result, len(g.hops))
	last := len(g.peaks) - 1
	for i, h := range g.hops {
		all[i] = result{
			Name: "flood-memory-" + strings.ReplaceAll(strings.ToLower(h.name), " ", "-"), What: "flood: peak memory of the " + h.name + ", last flood over first", Unit: "MB",
			Value: figure(g.peaks[last][i] - g.peaks[0][i]), Samples: len(g.peaks),
		}.budget(flatMB, 0).noted("before %s, peak %s, after %s MB", figure(g.start[i]), figure(g.peaks[last][i]), figure(g.afters[last][i]))
	}
	return all
}
