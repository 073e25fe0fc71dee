package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"claude-hub/hub/fleet"
	"claude-hub/hub/screen"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	terminalProtocol = "claude-hub.terminal.v1"
	helloTime        = 5 * time.Second
	pingEvery        = 20 * time.Second
	pongTime         = 20 * time.Second
	writeTime        = 10 * time.Second
	closeTime        = time.Second
	slowest          = 16 << 10 // bytes a second that a viewer must take at least
	// terminalRead bounds one message: a paste as JSON may have six bytes for one.
	terminalRead = 6*claudehub.MaxPaste + 4<<10
)

// terminal is one viewer's WebSocket. Refusals before it opens are problems; after, a text and a close code.
func (s *server) terminal(w http.ResponseWriter, r *http.Request, c personCaller) error {
	id, err := claudehub.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	sess, err := s.fleet.Watch(r.Context(), c.ID, id)
	if err != nil {
		return err
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{terminalProtocol},
		InsecureSkipVerify: true, // the guard has looked
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		recordOf(r.Context()).err = err
		return nil //nolint:nilerr // Accept has answered
	}
	conn.SetReadLimit(terminalRead)
	err = s.serveTerminal(r.Context(), conn, c, sess)
	recordOf(r.Context()).err = expected(err)
	return nil
}

// expected hides from the log how browsers leave.
func expected(err error) error {
	if websocket.CloseStatus(err) >= 0 || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// closeTerminal says why, and waits a moment for the browser to have heard it.
func closeTerminal(ctx context.Context, conn *websocket.Conn, err error) {
	cut := time.AfterFunc(closeTime, func() { _ = conn.CloseNow() })
	defer cut.Stop()
	code, why := closeCode(err)
	if websocket.CloseStatus(err) < 0 && err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = writeText(ctx, conn, wire.TerminalDown{Type: "refused", Why: why, Code: claudehub.CodeOf(err)})
	}
	_ = conn.Close(code, limitText(why, 120))
}

// closeCode tells a page whether to connect again: not after a policy violation.
func closeCode(err error) (websocket.StatusCode, string) {
	if errors.Is(err, context.Canceled) {
		return websocket.StatusGoingAway, "The Hub is stopping. The terminal comes back by itself."
	}
	switch claudehub.CodeOf(err) {
	case claudehub.Internal:
		return websocket.StatusInternalError, claudehub.MessageOf(err)
	case claudehub.Unavailable, claudehub.TooMany:
		return websocket.StatusTryAgainLater, claudehub.MessageOf(err)
	}
	return websocket.StatusPolicyViolation, claudehub.MessageOf(err)
}

func (s *server) serveTerminal(ctx context.Context, conn *websocket.Conn, c personCaller, sess claudehub.Session) error {
	v, err := s.joinTerminal(ctx, conn, c, sess)
	if err != nil {
		closeTerminal(ctx, conn, err)
		return err
	}
	defer v.Leave()
	defer s.fleet.Enter(ctx, c.Face(), sess.ID)()
	s.metrics.viewers.Inc()
	defer s.metrics.viewers.Dec()

	// Whoever ends first ends the others; the first reason counts. A read ends with the connection alone, since cancelling
	// one would end the connection without a word.
	open := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	part := func(run func(context.Context) error) {
		wg.Go(func() { cancel(run(ctx)) })
	}
	part(func(ctx context.Context) error { return s.readTerminal(ctx, open, conn, v) })
	part(func(ctx context.Context) error { return s.writeTerminal(ctx, conn, v) })
	part(func(ctx context.Context) error { return s.followLinks(ctx, c.ID, sess) })
	part(func(ctx context.Context) error { return s.pingTerminal(ctx, conn) })
	part(func(ctx context.Context) error { return s.stillWatches(ctx, c, sess.ID) })
	<-ctx.Done()
	closeTerminal(open, conn, context.Cause(ctx))
	wg.Wait()
	return context.Cause(ctx)
}

func (s *server) joinTerminal(ctx context.Context, conn *websocket.Conn, c personCaller, sess claudehub.Session) (*screen.Viewer, error) {
	hello, err := readHello(ctx, conn)
	if err != nil {
		return nil, err
	}
	_, err = s.fleet.Drive(ctx, c.ID, sess.ID)
	if err != nil && claudehub.CodeOf(err) != claudehub.Forbidden {
		return nil, err
	}
	if hello.Cols != 0 || hello.Rows != 0 {
		if err := claudehub.ValidSize(hello.Cols, hello.Rows); err != nil {
			return nil, err
		}
	}
	return s.feeds.Join(ctx, sess, screen.Who{
		Person: c.ID, Terminal: hello.Terminal, Drive: err == nil && c.may(drive), Active: hello.Active, Cols: hello.Cols, Rows: hello.Rows,
	})
}

func readHello(ctx context.Context, conn *websocket.Conn) (wire.TerminalUp, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	up, err := readUp(ctx, conn)
	if err == nil && up.Type != "hello" {
		err = claudehub.Errorf(claudehub.Invalid, "The first message of a terminal is hello.")
	}
	return up, err
}

func readUp(ctx context.Context, conn *websocket.Conn) (up wire.TerminalUp, err error) {
	kind, b, err := conn.Read(ctx)
	if err != nil {
		return up, err
	}
	if kind != websocket.MessageText || json.Unmarshal(b, &up) != nil {
		return up, claudehub.Errorf(claudehub.Invalid, "That is not a terminal message.")
	}
	return up, nil
}

func (s *server) readTerminal(ctx, open context.Context, conn *websocket.Conn, v *screen.Viewer) error {
	for {
		up, err := readUp(open, conn)
		if err != nil {
			return err
		}
		switch up.Type {
		case "ack":
			if err := v.Ack(up.Bytes); err != nil {
				return err
			}
		case "keys", "paste":
			v.Input(ctx, up)
		case "size":
			err = v.Resize(up.Cols, up.Rows)
		case "claim":
			err = v.Claim()
		case "ping":
			v.Pong(up.ID)
		default:
			err = claudehub.Errorf(claudehub.Invalid, "The Hub does not know this kind of message. Reload the page.")
		}
		if err != nil {
			v.Refuse(err)
		}
	}
}

func (s *server) writeTerminal(ctx context.Context, conn *websocket.Conn, v *screen.Viewer) error {
	for {
		m, err := v.Next(ctx)
		if err != nil {
			return err
		}
		limit := writeTime + time.Duration(len(m.Binary))*time.Second/slowest
		wctx, cancel := context.WithTimeout(ctx, limit)
		if m.Text != nil {
			err = writeText(wctx, conn, *m.Text)
		} else {
			err = conn.Write(wctx, websocket.MessageBinary, m.Binary)
			s.metrics.frameOut.Add(float64(len(m.Binary)))
		}
		cancel()
		if err != nil {
			return err
		}
	}
}

func writeText(ctx context.Context, conn *websocket.Conn, t wire.TerminalDown) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, b)
}

// pingTerminal finds out that a browser is gone without a word.
func (s *server) pingTerminal(ctx context.Context, conn *websocket.Conn) error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		pctx, cancel := context.WithTimeout(ctx, pongTime)
		err := conn.Ping(pctx)
		cancel()
		if err != nil {
			return claudehub.WithCause(claudehub.Unavailable, err, "The browser does not answer.")
		}
	}
}

// stillWatches ends the terminal of a person whose credential is good no more, or whom the Session is not shared with any
// more. That the Hub cannot tell is no reason.
func (s *server) stillWatches(ctx context.Context, c personCaller, id claudehub.SessionID) error {
	look, deaf := s.revocations(c)
	defer deaf()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look:
		case <-tick.C:
		}
		if err := s.stillIn(ctx, c); err != nil {
			return err
		}
		if err := s.fleet.StillWatches(ctx, c.ID, id); claudehub.CodeOf(err) == claudehub.NotFound {
			return err
		}
	}
}

// followLinks keeps the feed told how the hops are, and ends the terminal when its person may no longer watch.
func (s *server) followLinks(ctx context.Context, p claudehub.PersonID, sess claudehub.Session) error {
	var runner, sandbox claudehub.Link
	for {
		err := s.fleet.Changes(ctx, p, func(ch fleet.Change) (err error) {
			switch {
			case ch == (fleet.Change{}):
				if runner, err = s.fleet.RunnerLink(ctx, sess.Runner); err != nil {
					return err
				}
				now, err := s.fleet.Watch(ctx, p, sess.ID)
				if err != nil {
					return err
				}
				sandbox = now.Observed.SandboxLink
			case ch.Session != nil && ch.Session.ID == sess.ID:
				if err := s.fleet.StillWatches(ctx, p, sess.ID); claudehub.CodeOf(err) == claudehub.NotFound {
					return err
				}
				sandbox = ch.Session.Observed.SandboxLink
			case ch.Runner != nil && ch.Runner.ID == sess.Runner:
				runner = ch.Runner.Link
			case ch.Link != nil && ch.Link.Runner == sess.Runner:
				runner = ch.Link.Link
			default:
				return nil
			}
			s.feeds.Links(sess.ID, runner, sandbox)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && claudehub.CodeOf(err) != claudehub.Unavailable {
			return err
		}
		select { // it fell behind, or the bus is away: look anew
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
