package runner

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// watchMemory tells the person when a Session nears its limit, and starts Claude again, with its conversation, when it is
// Claude itself that leaks: between Turns, or at once when the system is about to end somebody.
func (t *tending) watchMemory(ctx context.Context) error {
	used, limit, high := t.s.meter.memory()
	if limit == 0 {
		return nil
	}
	if high.IsZero() {
		t.alarmed = false
	} else if !t.alarmed && time.Since(high) >= t.s.on.alarmTime {
		t.alarmed = true
		t.s.notice(ctx, fmt.Sprintf("This Session uses %s of the %s of memory that it may have. At the limit the system ends programs in it.", inMB(used), inMB(limit)))
	}
	if float64(used) < leakShare*float64(limit) || time.Since(t.asked) < min(leakAskEvery, t.s.on.figuresTime) {
		return nil
	}
	t.asked = time.Now()
	own, err := t.claudeMemory(ctx)
	if err != nil {
		return nil //nolint:nilerr // a Sandbox that does not answer is health's to find
	}
	full := float64(used) >= fullMemory*float64(limit)
	leaks := float64(own) >= leakShare*float64(limit) && (own >= t.s.on.leakFloor || full)
	if !leaks || !full && !t.between(ctx) {
		return nil
	}
	t.s.meter.reset()
	return t.revive(ctx, fmt.Sprintf("Claude Code itself had come to use %s of memory, so it was started again; its conversation was resumed.", inMB(own)))
}

// claudeMemory is what Claude's own process has in memory; 0 when it is ending.
func (t *tending) claudeMemory(ctx context.Context) (int64, error) {
	status, err := t.claudeStatus(ctx)
	if err != nil || status["VmRSS"] == "" {
		return 0, err
	}
	kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(status["VmRSS"], "kB")), 10, 64)
	return kb << 10, err
}
