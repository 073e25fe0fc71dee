package microsandbox

import (
	"bytes"
	"context"
	"io"
	"sync"

	"claude-hub/desktop/process"
)

// feed gives a program its input while it runs, and returns what it said.
func feed(ctx context.Context, p *process.Process, c call) ([]byte, error) {
	var out, errs bytes.Buffer
	var pumps sync.WaitGroup
	keep := func(to *bytes.Buffer, from io.Reader) {
		_, _ = io.Copy(to, io.LimitReader(from, 1<<20)) // the exit code tells the story
		_, _ = io.Copy(io.Discard, from)
	}
	pumps.Go(func() { keep(&out, p.Stdout()) })
	pumps.Go(func() { keep(&errs, p.Stderr()) })
	given := make(chan error, 1)
	go func() {
		err := c.input(p)
		p.Stdin().Close()
		given <- err
	}()
	code, err := p.Wait(ctx)
	if ctx.Err() != nil {
		p.Close() // before the pumps are waited for: what does not end holds them
		p.Stdin().Close()
	}
	pumps.Wait()
	p.Stdin().Close()
	inputErr := <-given
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case code != 0:
		return nil, &failure{c.args[0], code, tail(errs.Bytes())}
	}
	return out.Bytes(), inputErr
}
