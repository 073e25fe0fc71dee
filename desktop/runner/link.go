package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// link keeps the stream from the Hub: it connects for ever, from the last message that was stored, and hands each
// message to its receiver in order. The library parses one connection; everything about connecting again is here, since
// the library ends on a clean end of stream, hands on half events and waits for ever on a silent one.
type link struct {
	hub      *Hub
	state    *State
	to       receiver
	takeOver bool
	log      *slog.Logger
}

// receiver is who acts on the Hub's messages. Its methods return fast.
type receiver interface {
	linked(up bool)
	// unopposed says that no other process has this Runner's lease, as far as can be told: the Hub gave it, or is away.
	unopposed()
	snapshot(context.Context, wire.Snapshot) error
	desired(context.Context, wire.DesiredSession) error
	machineDesired(context.Context, wire.DesiredMachine) error
	input(wire.Input)
	resize(wire.Resize)
	attach(wire.Attach)
	detach(wire.Detach)
}

// errSuperseded ends this process: another one took the lease.
var errSuperseded = claudehub.Errorf(claudehub.Conflict, "Another Runner process took over this Runner's link to the Hub. This one ends.")

// leasePatience is how long another process's lease is waited for: a process that died with its machine holds it that
// long at the most.
const leasePatience = wire.StreamDead + 5*time.Second

// steadyTime is how long a link lasts that was of use, whatever it brought.
const steadyTime = 5 * time.Second

// seq is how far the stream was stored; 0 when that cannot be told.
func (l *link) seq(ctx context.Context) int64 {
	n, err := l.state.LastSeq(ctx)
	if err != nil {
		return 0
	}
	return n
}

// Run returns when ctx ends, or with the Hub's word that this process must not go on.
func (l *link) Run(ctx context.Context) error {
	wait := newPause()
	refused := time.Time{} // since when the lease is another's
	for {
		before, began := l.seq(ctx), time.Now()
		token, cut, err := l.hub.tokens.take()
		if err != nil {
			// The Hub does not want this Runner. Its Sessions go on, and the token loop says when to ask again.
			if !waitFor(ctx, l.hub.tokens.on()) {
				return nil
			}
			continue
		}
		err = l.connect(ctx, token, cut)
		l.to.linked(false)
		// A Hub that takes every connection and ends it at once, or says what cannot be read, is not asked ever again
		// without a pause.
		if time.Since(began) > steadyTime || l.seq(ctx) > before {
			wait.reset()
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // told to end; that the connection ended with it is no error
		case errors.Is(err, errSuperseded):
			return err
		case claudehub.CodeOf(err) == claudehub.Conflict:
			if refused.IsZero() {
				refused = time.Now()
			}
			if time.Since(refused) > leasePatience {
				return fmt.Errorf("link to the Hub: %w", err)
			}
		case claudehub.CodeOf(err) == claudehub.Unauthenticated:
			l.hub.tokens.refused(token, err) // it is said by the token loop; another token is tried at once
			refused = time.Time{}
			continue
		case errors.Is(err, errTokenChanged):
			continue
		case final(err):
			return fmt.Errorf("link to the Hub: %w", err)
		default:
			refused = time.Time{}
			l.to.unopposed()
		}
		l.log.Info("link to the Hub is down", "error", err)
		wait.sleep(ctx)
	}
}

// errTokenChanged ends a stream that was opened with a token that this Runner does not use any more.
var errTokenChanged = errors.New("the token has changed")

// errRevoked is the Hub's word on the stream.
var errRevoked = claudehub.Errorf(claudehub.Unauthenticated, "This Runner was revoked at the Hub.")

func waitFor(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect runs one connection to its end.
func (l *link) connect(ctx context.Context, token claudehub.Token, cut <-chan struct{}) error {
	seq, err := l.state.LastSeq(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if waitFor(ctx, cut) {
			cancel(errTokenChanged)
		}
	}()
	host, _ := os.Hostname() // shown to the person; empty is fine

	c := sse.NewClient(l.hub.url(streamPath(host, l.takeOver)), sse.ClientMaxBufferSize(wire.MaxEvent))
	c.Connection = l.hub.streaming
	c.ReconnectStrategy = &backoff.StopBackOff{}
	header := http.Header{}
	l.hub.sign(header, token)
	for k := range header {
		c.Headers[k] = header.Get(k)
	}
	if seq > 0 {
		c.LastEventID.Store([]byte(strconv.FormatInt(seq, 10)))
	}
	c.ResponseValidator = func(_ *sse.Client, resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			l.hub.tokens.accepted(token)
			l.to.unopposed()
			l.to.linked(true)
			return nil
		}
		defer func() { _ = resp.Body.Close() }()
		err := refusal(resp)
		cancel(err)
		return err
	}
	err = c.SubscribeRawWithContext(ctx, func(e *sse.Event) {
		if err := l.handle(ctx, e); err != nil {
			cancel(err)
		}
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// handle acts on one event. One cut short by a broken connection does not parse, or lacks its data, and is dropped: the
// Hub sends it again, as its id was not stored.
func (l *link) handle(ctx context.Context, e *sse.Event) error {
	if string(e.Event) == wire.EventRevoked {
		return errRevoked
	}
	if len(e.Data) == 0 {
		return nil // a comment
	}
	var err error
	switch string(e.Event) {
	case wire.EventSnapshot:
		err = decode(e.Data, func(m wire.Snapshot) error { return l.to.snapshot(ctx, m) })
	case wire.EventDesired:
		err = decode(e.Data, func(m wire.DesiredSession) error { return l.to.desired(ctx, m) })
	case wire.EventMachine:
		err = decode(e.Data, func(m wire.DesiredMachine) error { return l.to.machineDesired(ctx, m) })
	case wire.EventInput:
		err = decode(e.Data, func(m wire.Input) error { l.to.input(m); return nil })
	case wire.EventResize:
		err = decode(e.Data, func(m wire.Resize) error { l.to.resize(m); return nil })
	case wire.EventAttach:
		err = decode(e.Data, func(m wire.Attach) error { l.to.attach(m); return nil })
	case wire.EventDetach:
		err = decode(e.Data, func(m wire.Detach) error { l.to.detach(m); return nil })
	case wire.EventSuperseded:
		return errSuperseded
	default:
		// A newer Hub may say more than this Runner knows; its protocol number says whether that matters.
		l.log.Warn("unknown event from the Hub", "event", string(e.Event))
	}
	var half *json.SyntaxError
	if errors.As(err, &half) {
		l.log.Warn("event from the Hub cut short", "event", string(e.Event), "bytes", len(e.Data))
		return fmt.Errorf("event cut short: %w", err)
	}
	return err
}

func decode[M any](data []byte, then func(M) error) error {
	var m M
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	return then(m)
}
