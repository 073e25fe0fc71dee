package process

import (
	"context"
	"io"
	"sync"
)

// Result is what a command left behind.
type Result struct {
	Code           int // -1 when a signal ended it
	Stdout, Stderr []byte
	Truncated      bool // an output went over the limit
}

// Run starts c, waits for its end and returns what it wrote. An exit code other than zero is no error here: the caller
// knows which codes are answers. A cancelled context is one, with the cause.
func Run(ctx context.Context, c Command) (Result, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Result{Code: -1}, err
	}
	defer p.Close() // it has ended; this frees the pipes
	out, errs := &capture{limit: c.limit()}, &capture{limit: c.limit()}
	var pumps sync.WaitGroup
	pumps.Go(func() { _, _ = io.Copy(out, p.Stdout()) })
	pumps.Go(func() { _, _ = io.Copy(errs, p.Stderr()) })
	pumps.Go(func() {
		// A child need not read what it is given, and then this fails: its exit code tells the story.
		_, _ = p.stdin.Write(c.Input)
		p.stdin.Close()
	})
	<-p.exited
	p.stdin.Close() // a grandchild may hold the other end and not read
	pumps.Wait()
	<-p.watched
	r := Result{Code: p.code, Stdout: out.kept, Stderr: errs.kept, Truncated: out.over || errs.over}
	if err := ctx.Err(); err != nil && r.Code != 0 {
		return r, context.Cause(ctx)
	}
	return r, p.err
}

// capture keeps the first bytes up to its limit and takes, without keeping, the rest: a child must never stall on us.
type capture struct {
	limit int
	kept  []byte
	over  bool
}

func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - len(c.kept)
	if len(p) > room {
		c.over = true
		c.kept = append(c.kept, p[:room]...)
	} else {
		c.kept = append(c.kept, p...)
	}
	return len(p), nil
}
