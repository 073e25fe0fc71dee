package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const terminalProtocol = "claude-hub.terminal.v1"

// readLimit bounds one message: a frame, or what deltas the Hub joined.
const readLimit = wire.MaxFrame + 256<<10

// message is what a connection brings: that it is open, a message, or why it is over.
type message struct {
	opened bool
	kind   websocket.MessageType
	data   []byte
	err    error
}

// conn is one WebSocket: a goroutine that dials and reads. Its owner takes what it brings, and closes it.
type conn struct {
	messages chan message
	cancel   context.CancelFunc
	done     chan struct{}
	write    func([]byte) error // set before opened is brought
}

func (l *line) connect(ctx context.Context) *conn {
	ctx, cancel := context.WithCancel(ctx)
	c := &conn{messages: make(chan message), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		err := c.run(ctx, l.t.client, l.t.session, l.pause.open)
		c.bring(ctx, message{err: err})
	}()
	return c
}

func (c *conn) bring(ctx context.Context, m message) bool {
	select {
	case c.messages <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *conn) run(ctx context.Context, cl *Client, id SessionID, limit time.Duration) error {
	ws, err := cl.dial(ctx, id, limit)
	if err != nil {
		return err
	}
	defer ws.CloseNow() //nolint:errcheck // it is gone either way
	ws.SetReadLimit(readLimit)
	c.write = func(b []byte) error {
		ctx, cancel := context.WithTimeout(ctx, writeTime)
		defer cancel()
		return ws.Write(ctx, websocket.MessageText, b)
	}
	if !c.bring(ctx, message{opened: true}) {
		return ctx.Err()
	}
	var refused wire.TerminalDown // the last
	for {
		kind, data, err := ws.Read(ctx)
		if err != nil {
			return closed(cl, err, refused)
		}
		var m wire.TerminalDown
		if kind == websocket.MessageText && json.Unmarshal(data, &m) == nil && m.Type == "refused" {
			refused = m
		}
		if !c.bring(ctx, message{kind: kind, data: data}) {
			return ctx.Err()
		}
	}
}

func (cl *Client) dial(ctx context.Context, id SessionID, limit time.Duration) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	header := http.Header{}
	cl.authorize(header)
	address := "ws" + strings.TrimPrefix(cl.base.String(), "http") + sessionPath(id, "/terminal")
	ws, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: cl.http, HTTPHeader: header, Subprotocols: []string{terminalProtocol}, CompressionMode: websocket.CompressionDisabled,
	})
	switch {
	case err == nil && ws.Subprotocol() != terminalProtocol:
		_ = ws.CloseNow()
		return nil, claudehub.Errorf(claudehub.Invalid, "The Hub at %s speaks another terminal protocol. Update this program.", cl.URL())
	case err == nil:
		return ws, nil
	case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		defer resp.Body.Close()
		return nil, cl.problem(resp)
	}
	return nil, cl.unreachable(err)
}

// closed makes an error of how a connection ended: a close code, and before it the whole sentence and its code in a text.
// After a policy violation there is no point in another connection.
func closed(cl *Client, err error, refused wire.TerminalDown) error {
	var ce websocket.CloseError
	if !errors.As(err, &ce) {
		return claudehub.WithCause(claudehub.Unavailable, err, "The link to the Hub at %s broke.", cl.URL())
	}
	if !strings.HasPrefix(refused.Why, ce.Reason) { // a close has room for the start of a sentence
		refused = wire.TerminalDown{Why: ce.Reason} // what was refused earlier is not why it ended
	}
	code, silent := claudehub.Unavailable, "The Hub ended the connection."
	if ce.Code == websocket.StatusPolicyViolation {
		code, silent = claudehub.Forbidden, "The Hub ended the terminal."
		if final(&claudehub.Error{Code: refused.Code}) {
			code = refused.Code
		}
	}
	if sentence := printable(refused.Why, maxSentence); sentence != "" {
		return claudehub.Errorf(code, "%s", sentence) // the cause would say it once more
	}
	return claudehub.WithCause(code, err, "%s", silent)
}

// send writes a message. Its owner calls it after opened.
func (c *conn) send(up wire.TerminalUp) error {
	b, err := json.Marshal(up)
	if err != nil {
		return err
	}
	return c.write(b)
}

// close hangs up and waits for the goroutine.
func (c *conn) close() {
	c.cancel() // ends a dial, a read, and what waits to be brought
	<-c.done
}
