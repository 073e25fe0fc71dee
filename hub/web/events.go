package web

import (
	"context"
	"encoding/json"
	"net/http"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// events tells a page of each change that its person may see. The page fetches its lists at ready: from there on it
// misses nothing. When it was too slow the stream ends, and the page starts again.
func (s *server) events(w http.ResponseWriter, r *http.Request, c personCaller) error {
	s.metrics.pages.Inc()
	defer s.metrics.pages.Dec()
	out := &pinged{sse: startSSE(w), silent: true}
	look, deaf := s.revocations(c)
	defer deaf()
	ctx, stop := out.ping(r.Context(), look, func(ctx context.Context) error { return s.stillIn(ctx, c) })
	defer stop()
	err := s.fleet.Changes(ctx, c.ID, func(ch fleet.Change) error {
		kind, data, err := changeEvent(ch)
		if err != nil || !c.may(eventScope[kind]) && kind != "ready" {
			return err
		}
		return out.send(-1, kind, data)
	})
	if rec := recordOf(ctx); rec.status != 0 {
		rec.err = err // the answer has begun: the end of the stream says the rest
		return nil
	}
	return err
}

// eventScope is what an API token needs to hear of a kind of thing: what opens the thing itself.
var eventScope = map[string]claudehub.Scope{
	"session": read, "prompt": read, "suggestion": read, "presence": read, "link": read, "runner": runners, "environment": environments, "build": environments,
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
	case ch.Suggestion != nil:
		kind, v = "suggestion", ch.Suggestion
	case ch.Presence != nil:
		kind, v = "presence", ch.Presence
	case ch.Link != nil:
		kind, v = "link", ch.Link
	case ch.Environment != nil:
		kind, v = "environment", ch.Environment
	case ch.Build != nil:
		kind, v = "build", ch.Build
	default:
		kind = "ready"
	}
	data, err = json.Marshal(v)
	return kind, data, err
}
