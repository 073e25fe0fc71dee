package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"claude-hub/internal/claudehub"
)

// Event is one change. Exactly one field is set.
type Event struct {
	// Ready: the stream is open, for the first time or again. What is fetched from now on, and the events after, miss
	// nothing; what was known before may be old.
	Ready   bool
	Session *Session
	Runner  *Runner
	Prompt  *Prompt
}

const (
	eventLimit = 2 << 20 // a prompt of 512 KiB, as JSON may write it in the worst usual case
	// silence is how long a stream may say nothing: the Hub sends a comment every 15 seconds.
	silence = 45 * time.Second
)

var errSilent = errors.New("the stream went silent")

// Events calls do for each change that this principal may see, in order, and connects again for ever. It returns when ctx
// ends, when do fails (its error), or when the Hub refuses for good (its answer).
func (c *Client) Events(ctx context.Context, do func(Event) error) error {
	pause := backoff{timing: c.timing}
	for {
		err := c.stream(ctx, func(e Event) error {
			pause.reset()
			if err := do(e); err != nil {
				return &stop{err}
			}
			return nil
		})
		var s *stop
		switch {
		case errors.As(err, &s):
			return s.err
		case ctx.Err() != nil:
			return ctx.Err()
		case final(err):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(pause.next(), RetryAfter(err))):
		}
	}
}

// stop carries the caller's own error out of the loop.
type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }

// final tells an answer that trying again will not change.
func final(err error) bool {
	switch claudehub.CodeOf(err) {
	case claudehub.Unauthenticated, claudehub.Forbidden, claudehub.NotFound, claudehub.Invalid, claudehub.Expired:
		return true
	}
	return false
}

func (c *Client) stream(ctx context.Context, do func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	req, err := c.request(ctx, http.MethodGet, "/api/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c.problem(resp)
	}
	err = readEvents(resp.Body, func() { watch.Reset(silence) }, do)
	if err == nil {
		err = io.ErrUnexpectedEOF // a stream has no end of its own
	}
	return err
}

// readEvents parses Server-Sent Events; heard is called for every line. Kinds that it does not know it passes over.
func readEvents(r io.Reader, heard func(), do func(Event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), eventLimit)
	var kind string
	var data []byte
	for lines.Scan() {
		heard()
		line := lines.Bytes()
		if len(line) == 0 {
			e, known, err := decodeEvent(kind, data)
			if err != nil {
				return err
			}
			kind, data = "", nil
			if !known {
				continue
			}
			if err := do(e); err != nil {
				return err
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = string(value)
		case "data":
			if len(data)+len(value) > eventLimit {
				return bufio.ErrTooLong
			}
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	return lines.Err()
}

func decodeEvent(kind string, data []byte) (e Event, known bool, err error) {
	switch kind {
	case "ready":
		e.Ready = true
	case "session":
		err = json.Unmarshal(data, &e.Session)
	case "runner":
		err = json.Unmarshal(data, &e.Runner)
	case "prompt":
		err = json.Unmarshal(data, &e.Prompt)
	default:
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("event %s: %w", kind, err)
	}
	return e, e != Event{}, nil // null is no event
}

// backoff spaces attempts that go on for ever: quick at first, with jitter so that many clients do not come at once.
type backoff struct {
	timing
	tries int
}

func (b *backoff) next() time.Duration {
	full := b.first
	for range b.tries {
		full = min(full*9/5, b.most)
	}
	b.tries = min(b.tries+1, 40)
	return full/2 + rand.N(full/2+1)
}

func (b *backoff) reset() { b.tries = 0 }

// timing is what tests make shorter.
type timing struct {
	first, most time.Duration // pauses between attempts
	open        time.Duration // to connect
	ping, dead  time.Duration
	patience    time.Duration // without a word about the oldest input
	refusal     time.Duration // before refused input is tried again
}

var defaultTiming = timing{
	first: 250 * time.Millisecond, most: 8 * time.Second, open: 15 * time.Second,
	ping: 5 * time.Second, dead: 12 * time.Second, patience: 4 * time.Second, refusal: 700 * time.Millisecond,
}
