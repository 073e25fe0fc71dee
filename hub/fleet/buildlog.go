package fleet

import (
	"context"
	"encoding/json"
	"time"

	"claude-hub/hub/bus"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	// maxLog leaves room for the line that says how much is left out.
	maxLog = claudehub.MaxBuildLog + 4<<10
	// logBatch is how many parts of a log are read at once.
	logBatch = 8
	// logSettles is how long after a build's end its log may still grow, for who follows it: the last bytes and the end
	// come on two ways.
	logSettles = 2 * time.Second
	// logLook is how often a log is looked at although nobody said that it grew.
	logLook = 10 * time.Second
)

// StoreBuildLog puts bytes of a build's log where they belong and answers how much of it is there. What is there
// already is passed over; bytes that would leave a gap are not taken: the answer says where to go on.
func (f *Fleet) StoreBuildLog(ctx context.Context, r claudehub.RunnerID, id claudehub.BuildID, offset int64, data []byte) (wire.LogReply, error) {
	if offset < 0 || len(data) > wire.MaxLogChunk {
		return wire.LogReply{}, claudehub.Errorf(claudehub.TooLarge, "At most %d KB of a log can be sent at once, from an offset of 0 or more.", wire.MaxLogChunk>>10)
	}
	var b store.Build
	grew := false
	err := f.st.Write(ctx, func(q store.Q) (err error) {
		if b, err = runnersBuild(ctx, q.LockBuild, r, id); err != nil {
			return err
		}
		end := offset + int64(len(data))
		switch {
		case offset > b.LogBytes || end <= b.LogBytes:
			return nil
		case end > maxLog:
			return claudehub.Errorf(claudehub.TooLarge, "Of a build's log %d MB are kept, and that is more.", claudehub.MaxBuildLog>>20)
		}
		data = data[b.LogBytes-offset:]
		if err := q.AppendBuildLog(ctx, id, b.LogBytes, data); err != nil {
			return err
		}
		b.LogBytes, grew = end, true
		return nil
	})
	if err != nil {
		return wire.LogReply{}, err
	}
	if grew {
		f.publish(wire.ChangeSubject, changedBuildLog, changed{ID: string(id)})
	}
	return wire.LogReply{Offset: b.LogBytes}, nil
}

// FollowBuildLog calls send with the bytes of a build's log from an offset on, as they come, and returns nil when the
// build is over and all is sent, or when ctx ended.
func (f *Fleet) FollowBuildLog(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID, from int64, send func(offset int64, data []byte) error) error {
	grew := make(chan struct{}, 1)
	stop, err := f.bus.Subscribe(wire.ChangeSubject, func(kind string, data []byte) {
		if kind != bus.Cut {
			var c changed
			mine := kind == changedBuildLog || kind == changedBuild
			if !mine || json.Unmarshal(data, &c) != nil || c.ID != string(id) {
				return
			}
		}
		select {
		case grew <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	for {
		looked := f.now() // what comes after this look may be missed by it
		b, next, err := f.sendLog(ctx, p, id, from, send)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		from = next
		wait := logLook
		if b.State.Final() {
			if wait = logSettles - looked.Sub(b.Updated); wait <= 0 {
				return nil
			}
		}
		timer := time.NewTimer(min(wait, logLook))
		select {
		case <-ctx.Done():
		case <-grew:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sendLog sends what is there. The build is looked at before its log: what came before its end is so sent before it.
func (f *Fleet) sendLog(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID, from int64, send func(offset int64, data []byte) error) (claudehub.Build, int64, error) {
	b, err := f.Build(ctx, p, id)
	if err != nil {
		return b, from, err
	}
	for {
		chunks, err := f.readLog(ctx, id, from)
		if err != nil || len(chunks) == 0 {
			return b, from, err
		}
		for _, c := range chunks {
			if err := send(c.Start, c.Data); err != nil {
				return b, from, err
			}
			from = c.Start + int64(len(c.Data))
		}
	}
}

// readLog reads the next parts of a log, without what is before an offset.
func (f *Fleet) readLog(ctx context.Context, id claudehub.BuildID, from int64) ([]store.LogChunk, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	chunks, err := f.st.Read().BuildLog(ctx, id, from, logBatch)
	out := chunks[:0]
	for _, c := range chunks {
		if c.Start+int64(len(c.Data)) <= from {
			continue
		}
		if c.Start < from {
			c.Start, c.Data = from, c.Data[from-c.Start:]
		}
		out = append(out, c)
	}
	return out, err
}

// BuildLog calls send with all that is kept of a build's log.
func (f *Fleet) BuildLog(ctx context.Context, p claudehub.PersonID, id claudehub.BuildID, send func(data []byte) error) error {
	sent := false
	b, _, err := f.sendLog(ctx, p, id, 0, func(_ int64, data []byte) error {
		sent = true
		return send(data)
	})
	if err == nil && !sent && b.LogBytes > 0 {
		return claudehub.Errorf(claudehub.Expired, "The log of this build is kept no longer. Build again for another one.")
	}
	return err
}
