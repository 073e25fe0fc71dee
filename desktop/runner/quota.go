package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/disk"

	"claude-hub/internal/claudehub"
)

// Disks are looked at every diskLook, and a Session's volumes measured when its phase changed, every diskTime while it is
// awake, and when the machine's free space fell by diskFall since. A walk that takes long is made as much less often:
// measuring takes one part in diskShare of the time.
const (
	diskLook  = 15 * time.Second
	diskTime  = 30 * time.Second
	diskFall  = 256 << 20
	diskShare = 50
	walkTime  = time.Minute
	// diskReserve is what must be free on the machine's disk for anything to begin there.
	diskReserve = 1 << 30
	highDisk    = 0.90
	// overMargin is how much a Session that is over its quota may grow after it was stopped for that: a clean-up writes, too.
	overMargin = 64 << 20
)

// diskMark is when a Session's volumes were measured last, and what was so then. It is of the disk loop's goroutine.
type diskMark struct {
	at    time.Time
	took  time.Duration
	phase claudehub.Phase
	free  int64
}

// diskLoop measures the Sessions' volumes, one after the other, and holds them to their quotas.
func (r *Runner) diskLoop(ctx context.Context) error {
	marks := map[claudehub.SessionID]diskMark{}
	for ctx.Err() == nil {
		for _, s := range r.all() {
			mark, due := r.diskDue(ctx, s, marks[s.id])
			if !due {
				continue
			}
			if err := s.measureDisk(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("disk not measured", "error", err)
			}
			mark.took = time.Since(mark.at)
			marks[s.id] = mark
		}
		r.disk.wait(ctx, r.parts.diskLook)
	}
	return nil
}

// diskDue tells whether a Session's volumes are to be measured now.
func (r *Runner) diskDue(ctx context.Context, s *session, last diskMark) (diskMark, bool) {
	next := diskMark{at: time.Now(), phase: s.saw().Phase}
	switch next.phase {
	case claudehub.PhaseAwake, claudehub.PhaseAsleep, claudehub.PhaseArchived, claudehub.PhaseFailed:
	default:
		return last, false // on its way to one of them
	}
	if free, err := r.parts.freeDisk(ctx); err == nil {
		next.free = free
	}
	awake := next.phase == claudehub.PhaseAwake
	rest := max(r.parts.diskTime, diskShare*last.took)
	return next, next.phase != last.phase || awake && (time.Since(last.at) > rest || last.free-next.free > diskFall)
}

// measureDisk sees what a Session holds on the disk: its volumes, and its Sandbox's own system.
func (s *session) measureDisk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, walkTime)
	defer cancel()
	volumes, err := diskUsage(ctx, s.volume("workspace"), s.volume("config"))
	if err != nil {
		return err
	}
	rest, err := diskUsage(ctx, s.volume("backup"), s.volume("report"))
	if err != nil {
		return err
	}
	if st, err := s.on.cfg.Backend.Stats(ctx, s.box()); err == nil { // a Sandbox that is no more has none
		rest += st.DiskBytes
	}
	s.see(ctx, func(o *claudehub.Observed) {
		if o.Phase != claudehub.PhaseDeleted {
			o.Figures.Disk = roundDisk(volumes + rest)
		}
	})
	s.holdToQuota(ctx, volumes)
	return nil
}

// holdToQuota tells the person when the volumes near their limit, and has the Session stopped when they are over it. A
// Session that is woken over its limit may run, so that Claude can clean up, as long as it does not grow further.
func (s *session) holdToQuota(ctx context.Context, volumes int64) {
	o := s.saw()
	limit := o.Figures.DiskLimit
	if limit == 0 || o.Phase != claudehub.PhaseAwake {
		return
	}
	over := s.facts().Over
	switch {
	case volumes > max(limit, over+overMargin):
		// At each stop: what is woken then has room to clean up in, however far it had come.
		if err := s.learn(ctx, func(l *Local) { l.Over = volumes }); err != nil {
			s.log.Error("not noted", "error", err)
		}
		s.stopFor(&stepError{
			step: stepDisk, retry: true,
			err: claudehub.Errorf(claudehub.TooLarge, "Its files take %s, and it may have %s.", inMB(volumes), inMB(limit)),
			fix: "Wake it and have Claude delete what can be made again (node_modules, build output, caches), or give its Environment more disk. " +
				"It is stopped again if it grows by more than " + inMB(overMargin) + ".",
		})
	case volumes > limit:
		s.noticeOnce(ctx, "disk", fmt.Sprintf("This Session is over its disk limit of %s. Have Claude delete what can be made again; it is stopped if it grows.", inMB(limit)))
	case float64(volumes) > highDisk*float64(limit):
		s.noticeOnce(ctx, "disk", fmt.Sprintf("This Session's files take more than %d%% of the %s that they may take. Above that it is stopped.", int(highDisk*100), inMB(limit)))
		s.forgiveDisk(ctx, over)
	default:
		s.forgetNotice(ctx, "disk")
		s.forgiveDisk(ctx, over)
	}
}

func (s *session) forgiveDisk(ctx context.Context, over int64) {
	if over == 0 {
		return
	}
	if err := s.learn(ctx, func(l *Local) { l.Over = 0 }); err != nil {
		s.log.Error("not noted", "error", err)
	}
}

// freeDisk is what is free on the disk of a folder.
func freeDisk(ctx context.Context, dir string) (int64, error) {
	u, err := disk.UsageWithContext(ctx, dir)
	if err != nil {
		return 0, err
	}
	return int64(u.Free), nil
}

// reserve refuses to begin what writes while the machine's disk is nearly full.
func (p *parts) reserve(ctx context.Context) error {
	free, err := p.freeDisk(ctx)
	if err != nil || free >= diskReserve {
		return nil //nolint:nilerr // a system that does not tell its free space cannot be held to it
	}
	return claudehub.Errorf(claudehub.Unavailable,
		"This machine's disk has %s left, and nothing is started there with less than %s. Free some space, on the Runner's page for example, then retry.",
		inMB(free), inMB(diskReserve))
}
