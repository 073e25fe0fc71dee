package runnertest

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

// View is a browser's terminal: it follows the rules of a browser, and remembers what it saw.
type View struct {
	conn *websocket.Conn
	hold chan struct{} // non-nil: reads nothing while it is open

	mu     sync.Mutex
	Life   string
	Seq    uint64
	Shown  []byte
	Snaps  int
	State  wire.TerminalState
	Inputs []wire.InputReport
	Texts  []wire.TerminalDown
	err    error
	drawn  uint64
	seen   chan struct{}
	done   chan struct{}
}

// Dial opens the WebSocket without saying hello. The status is the Hub's answer when it refuses.
func (b *Browser) Dial(ctx context.Context, id claudehub.SessionID, header http.Header) (conn *websocket.Conn, status int, err error) {
	if header == nil {
		header = http.Header{"Origin": {b.Hub.URL}}
	}
	if b.Cookie != nil {
		header.Set("Cookie", b.Cookie.String())
	}
	if !b.Token.IsZero() {
		header.Set("Authorization", "Bearer "+b.Token.Reveal())
	}
	url := strings.Replace(b.Hub.URL, "http://", "ws://", 1) + "/api/sessions/" + string(id) + "/terminal"
	conn, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPHeader: header, Subprotocols: []string{"claude-hub.terminal.v1"},
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if res == nil {
		return nil, 0, err
	}
	if res.Body != nil {
		res.Body.Close()
	}
	return conn, res.StatusCode, err
}

// View opens a terminal and reads it in the background until Close.
func (b *Browser) View(ctx context.Context, id claudehub.SessionID, hello wire.TerminalUp) (*View, error) {
	conn, _, err := b.Dial(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(2 << 20)
	v := &View{conn: conn, seen: make(chan struct{}), done: make(chan struct{})}
	hello.Type = "hello"
	if err := v.Send(ctx, hello); err != nil {
		return nil, err
	}
	go v.read(context.WithoutCancel(ctx))
	return v, nil
}

// Send sends a message.
func (v *View) Send(ctx context.Context, up wire.TerminalUp) error {
	b, err := json.Marshal(up)
	if err != nil {
		return err
	}
	return v.conn.Write(ctx, websocket.MessageText, b)
}

// Type sends keys.
func (v *View) Type(ctx context.Context, n uint64, life, text string) error {
	return v.Send(ctx, wire.TerminalUp{Type: "keys", N: n, Life: life, Data: base64.StdEncoding.EncodeToString([]byte(text))})
}

// Close hangs up as a closed tab does, and waits.
func (v *View) Close() {
	_ = v.conn.CloseNow()
	<-v.done
}

// Hold stops reading until release is called, as a slow browser does.
func (v *View) Hold() (release func()) {
	ch := make(chan struct{})
	v.mu.Lock()
	v.hold = ch
	v.mu.Unlock()
	return func() { close(ch) }
}

// read ends with Close.
func (v *View) read(ctx context.Context) {
	defer close(v.done)
	for {
		v.mu.Lock()
		hold := v.hold
		v.mu.Unlock()
		if hold != nil {
			<-hold
			v.mu.Lock()
			v.hold = nil
			v.mu.Unlock()
		}
		kind, b, err := v.conn.Read(ctx)
		if err == nil {
			err = v.take(kind, b)
		}
		v.mu.Lock()
		if err != nil {
			v.err = err
		}
		drawn := v.drawn
		close(v.seen)
		v.seen = make(chan struct{})
		v.mu.Unlock()
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = v.Send(ctx, wire.TerminalUp{Type: "ack", Bytes: drawn})
			cancel()
		}
	}
}

func (v *View) take(kind websocket.MessageType, b []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kind == websocket.MessageText {
		var d wire.TerminalDown
		if err := json.Unmarshal(b, &d); err != nil {
			return err
		}
		v.Texts = append(v.Texts, d)
		if d.State != nil {
			v.State = *d.State
		}
		if d.Input != nil {
			v.Inputs = append(v.Inputs, *d.Input)
		}
		return nil
	}
	f, err := wire.ReadFrame(bytes.NewReader(b))
	if err != nil {
		return err
	}
	v.drawn += uint64(len(b))
	switch {
	case f.Kind == wire.FrameSnapshot:
		v.Life, v.Seq, v.Shown = f.Life, f.Seq, f.Data
		v.Snaps++
	case f.Life != v.Life || f.Seq != v.Seq:
		return fmt.Errorf("a delta at %d that does not follow %d", f.Seq, v.Seq)
	default:
		v.Seq += uint64(len(f.Data))
		v.Shown = append(v.Shown, f.Data...)
		if len(v.Shown) > 1<<20 {
			v.Shown = bytes.Clone(v.Shown[len(v.Shown)-256<<10:])
		}
	}
	return nil
}

// Until waits until ok holds, and returns why the terminal ended if it ended before.
func (v *View) Until(ctx context.Context, ok func(*View) bool) error {
	for {
		v.mu.Lock()
		good, err, seen := ok(v), v.err, v.seen
		v.mu.Unlock()
		switch {
		case good:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-seen:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Look reads fields under the lock.
func (v *View) Look(f func(*View)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v)
}
