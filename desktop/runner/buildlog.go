package runner

import (
	"context"
	"io"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// logPace is how often a growing log is looked at, and maxStuck how often the Hub may answer that it has no more than
// before until the upload is given up.
const (
	logPace  = 700 * time.Millisecond
	maxStuck = 20
)

// A build that a Runner's end cut off is made again under its own id, and its log goes on: the Hub has some of it already.

// upload sends a build's log to the Hub, from where the Hub has it, until all of a build that ended is there. A Hub that
// is away, or a Runner that starts again, only makes it wait: the log is on the disk.
func (b *builds) upload(ctx context.Context, k *build) error {
	pause, offset, stuck := newPause(), int64(-1), 0
	for ctx.Err() == nil {
		ended := b.final(k) // asked first: what is written until then counts
		sent, whole, err := b.sendLog(ctx, k, offset)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the next process goes on
		case claudehub.CodeOf(err) == claudehub.TooLarge:
			b.log.Warn("the Hub keeps no more of a build's log", "build", k.id, "from", offset)
			return nil
		case err != nil:
			b.log.Debug("build's log not sent", "build", k.id, "error", err)
			pause.sleep(ctx)
			continue
		case whole && ended:
			return nil
		case whole:
			k.more.wait(ctx, logPace)
		case sent == offset:
			if stuck++; stuck > maxStuck {
				b.log.Warn("the Hub does not take a build's log", "build", k.id, "from", offset)
				return nil
			}
			pause.sleep(ctx)
		default:
			stuck = 0
		}
		offset = sent
		pause.reset()
	}
	return nil
}

// sendLog sends the next part. With a negative offset it asks how much the Hub has. whole tells that the Hub has all that
// there is at the moment.
func (b *builds) sendLog(ctx context.Context, k *build, offset int64) (next int64, whole bool, err error) {
	if offset < 0 {
		next, err = b.hub.BuildLog(ctx, k.id, 0, nil)
		return next, false, err
	}
	if offset >= b.maker.LogSize(k.id) {
		return offset, true, nil
	}
	part, err := b.readLog(k.id, offset)
	if err != nil {
		return offset, false, err
	}
	next, err = b.hub.BuildLog(ctx, k.id, offset, part)
	return next, false, err
}

func (b *builds) readLog(id claudehub.BuildID, offset int64) ([]byte, error) {
	r, err := b.maker.LogReader(id, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, wire.MaxLogChunk))
}

func (b *builds) final(k *build) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return k.o.State.Final()
}
