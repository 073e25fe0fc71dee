//go:build linux

package bubblewrap

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// clockTick is the unit of processor times in /proc. Linux fixed it at a hundredth of a second for all programs.
const clockTick = 10 * time.Millisecond

// Stats sums up a Sandbox's processes as seen from outside, so that a sick one has figures too: all that descend from
// its PID 1, which also is who orphans are given to. Its own system takes space while it is a build.
func (b *Backend) Stats(ctx context.Context, id sandbox.ID) (sandbox.Stats, error) {
	if err := checkID(id); err != nil {
		return sandbox.Stats{}, err
	}
	rec, err := b.box(id).load()
	if err != nil {
		return sandbox.Stats{}, err
	}
	var s sandbox.Stats
	if o, err := b.box(id).origin(); err == nil && o != nil && o.Build {
		s.DiskBytes = usage(ctx, b.box(id).root()) + usage(ctx, b.box(id).tmp())
	}
	if !rec.alive() {
		if !b.box(id).exists() {
			return s, claudehub.Errorf(claudehub.NotFound, "There is no Sandbox %s. Start it first.", id)
		}
		return s, nil
	}
	s.MemoryLimit = rec.Memory
	all, err := processes()
	if err != nil {
		return sandbox.Stats{}, err
	}
	for _, p := range descendants(all, rec.Init.Pid) {
		s.Processes++
		s.MemoryBytes += p.rssPages * int64(os.Getpagesize())
		s.CPU += time.Duration(p.cpuTicks) * clockTick
	}
	return s, nil
}

// processes reads every process of the machine that it can.
func processes() ([]stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []stat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil { // it may have ended
			all = append(all, s)
		}
	}
	return all, nil
}

// descendants are the process root and all below it.
func descendants(all []stat, root int) []stat {
	children := map[int][]stat{}
	var found []stat
	for _, s := range all {
		if s.pid == root {
			found = append(found, s)
		} else {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}
