package web

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/wire"
)

// events tells a page of each change that its person may see. The page fetches its lists at ready: from there on it
// misses nothing. When it was too slow the stream ends, and the page starts again.
func (s *server) events(w http.ResponseWriter, r *http.Request, c personCaller) error {
	s.metrics.pages.Inc()
	defer s.metrics.pages.Dec()
	out := startSSE(w)
	var mu sync.Mutex // of out, and of silent
	silent := true
	pings := time.NewTicker(wire.StreamPing)
	defer pings.Stop()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	var wg sync.WaitGroup
	defer wg.Wait()
	done := make(chan struct{})
	defer close(done)
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-pings.C:
			}
			if s.stillIn(ctx, c) != nil {
				end()
				return
			}
			mu.Lock()
			if silent {
				out.comment()
				_ = out.flush() // a dead page ends its request's context
			}
			silent = true
			mu.Unlock()
		}
	})
	err := s.fleet.Changes(ctx, c.ID, func(ch fleet.Change) error {
		kind, data, err := changeEvent(ch)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		silent = false
		out.event(-1, kind, data)
		return out.flush()
	})
	if rec := recordOf(ctx); rec.status != 0 {
		rec.err = err // the answer has begun: the end of the stream says the rest
		return nil
	}
	return err
}

func changeEvent(ch fleet.Change) (kind string, data []byte, err error) {
	var v any = struct{}{}
	switch {
	case ch.Session != nil:
		kind, v = "session", ch.Session
	case ch.Runner != nil:
		kind, v = "runner", whole(*ch.Runner)
	case ch.Prompt != nil:
		kind, v = "prompt", ch.Prompt
	default:
		kind = "ready"
	}
	data, err = json.Marshal(v)
	return kind, data, err
}
