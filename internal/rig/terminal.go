package rig

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Terminal is a viewer's end of a Session's terminal: what a page does, without drawing.
type Terminal struct {
	ws    *websocket.Conn
	token string
	n     uint64

	// Throttle, when set before Follow, bounds how fast this viewer takes bytes, in bytes a second.
	Throttle int

	mu    sync.Mutex
	life  string
	drawn uint64
	tail  []byte // the newest output
	when  time.Time
	fresh chan struct{} // closed and made anew with each message
}

const maxTail = 64 << 10

// Open connects a terminal of a Session and says hello.
func (r *Rig) Open(ctx context.Context, id claudehub.SessionID, cols, rows int) (*Terminal, error) {
	address := "ws" + strings.TrimPrefix(r.URL, "http") + "/api/sessions/" + string(id) + "/terminal"
	ws, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient:   &http.Client{Jar: r.Person.Jar}, // the library refuses a client with a time limit
		Subprotocols: []string{"claude-hub.terminal.v1"},
		HTTPHeader:   http.Header{"Origin": {r.URL}},
	})
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(2 << 20)
	t := &Terminal{ws: ws, token: claudehub.NewNonce(), fresh: make(chan struct{})}
	return t, t.send(ctx, wire.TerminalUp{Type: "hello", Terminal: t.token, Cols: cols, Rows: rows, Active: true})
}

func (t *Terminal) send(ctx context.Context, m wire.TerminalUp) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.ws.Write(ctx, websocket.MessageText, b)
}

// Follow reads until ctx or the connection ends.
func (t *Terminal) Follow(ctx context.Context) error {
	unacked := uint64(0)
	for {
		kind, b, err := t.ws.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			continue
		}
		f, err := wire.ReadFrame(bytes.NewReader(b))
		if err != nil {
			return err
		}
		if t.Throttle > 0 {
			select {
			case <-time.After(time.Duration(len(b)) * time.Second / time.Duration(t.Throttle)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		t.take(f, len(b))
		if unacked += uint64(len(b)); unacked >= 32<<10 || f.Kind == wire.FrameSnapshot {
			unacked = 0
			if err := t.send(ctx, wire.TerminalUp{Type: "ack", Bytes: t.bytes()}); err != nil {
				return err
			}
		}
	}
}

func (t *Terminal) take(f wire.Frame, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life = f.Life
	t.drawn += uint64(size)
	if f.Kind == wire.FrameSnapshot {
		t.tail = t.tail[:0]
	}
	t.tail = append(t.tail, f.Data...)
	if over := len(t.tail) - maxTail; over > 0 {
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
	t.when = time.Now()
	close(t.fresh)
	t.fresh = make(chan struct{})
}

func (t *Terminal) bytes() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drawn
}

// Keys types.
func (t *Terminal) Keys(ctx context.Context, keys string) error {
	t.mu.Lock()
	life := t.life
	t.mu.Unlock()
	t.n++
	return t.send(ctx, wire.TerminalUp{Type: "keys", N: t.n, Life: life, Data: base64.StdEncoding.EncodeToString([]byte(keys))})
}

// Forget drops what was shown so far, so that Sees looks at what is new.
func (t *Terminal) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = t.tail[:0]
}

// Sees waits until the output since the last Forget has the text.
func (t *Terminal) Sees(ctx context.Context, text string) error {
	for {
		t.mu.Lock()
		found, next := bytes.Contains(t.tail, []byte(text)), t.fresh
		t.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("%q was not shown: %w", text, ctx.Err())
		}
	}
}

// QuietFor waits until nothing came for a time, and returns when the last came.
func (t *Terminal) QuietFor(ctx context.Context, d time.Duration) (time.Time, error) {
	for {
		t.mu.Lock()
		next, last := t.fresh, t.when
		t.mu.Unlock()
		select {
		case <-next:
		case <-time.After(d):
			return last, nil
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

// Life names the life of the terminal that is shown; empty before the first screen.
func (t *Terminal) Life() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life
}

// Screen waits for the first screen, and returns when it came.
func (t *Terminal) Screen(ctx context.Context) (time.Time, error) {
	for {
		t.mu.Lock()
		there, next, when := t.life != "", t.fresh, t.when
		t.mu.Unlock()
		if there {
			return when, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return when, fmt.Errorf("no screen came: %w", ctx.Err())
		}
	}
}

// Close leaves.
func (t *Terminal) Close() error { return t.ws.Close(websocket.StatusNormalClosure, "") }
