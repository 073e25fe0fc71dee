package runner

import (
	"context"
	"time"
)

// The machine slept, or its clock was moved, when the wall clock went on by clockJump more or less than the time that
// programs had. It is looked for every clockLook.
const (
	clockLook = 2 * time.Second
	clockJump = 10 * time.Second
)

// clocks read the wall clock, and how long programs have run: the latter stands while the machine sleeps.
type clocks func() (wall time.Time, running time.Duration)

func systemClocks() clocks {
	began := time.Now()
	return func() (time.Time, time.Duration) {
		t := time.Now()
		return t.Round(0), t.Sub(began) // Round drops the running clock
	}
}

// sleepLoop notices that the machine slept and has each awake Session checked.
func (r *Runner) sleepLoop(ctx context.Context) error {
	wall, running := r.clocks()
	for ctx.Err() == nil {
		newSignal().wait(ctx, r.parts.clockLook)
		nowWall, nowRunning := r.clocks()
		jump := nowWall.Sub(wall) - (nowRunning - running)
		wall, running = nowWall, nowRunning
		if jump.Abs() < clockJump {
			continue
		}
		r.log.Info("the machine slept, or its clock was moved", "by", jump)
		for _, s := range r.all() {
			s.checkUp()
		}
		// What waits for a time of the old clock looks again.
		r.status.pause.hurry()
		r.outbox.pause.hurry()
	}
	return nil
}
