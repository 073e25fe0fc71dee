package client

import (
	"context"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
)

// TerminalOptions says what kind of terminal this is.
type TerminalOptions struct {
	// Cols and Rows are what fits where it is shown; 0 when it has no size of its own, as for a recording.
	Cols, Rows int
	// Watch: nothing is ever sent for the program, and no size is told: a lone terminal's would count.
	Watch bool
}

// TerminalHandler is told what happens. All of it is called by Run's goroutine, one at a time; who is slow there is slow
// to acknowledge, and the Hub then leaves output out and sends a snapshot instead. Fields may be nil.
type TerminalHandler struct {
	// Frame is given each frame once and in order: a snapshot as it is, a delta only where the last frame ended.
	Frame func(Frame)
	// Changed: the status is another now.
	Changed func(TerminalStatus)
	// Notice is one sentence that the person should read now: input that was not sent, and why.
	Notice func(string)
}

// TerminalStatus is how a terminal is.
type TerminalStatus struct {
	// Hub is the hop from here to the Hub, and Why it is down.
	Hub Link
	Why string
	// State is the Hub's word; nil while the hop is down, or before the Hub said anything.
	State *TerminalState
	// Drawn: a screen has been seen, however old.
	Drawn bool
	// Typing: keys reach the program now, as far as each hop is known.
	Typing bool
}

// Terminal is one terminal of a Session. Its methods may be called from any goroutine, and never wait for the network.
type Terminal struct {
	client  *Client
	session SessionID
	on      TerminalHandler
	watch   bool
	asks    chan func(*line)

	mu     sync.Mutex
	status TerminalStatus
	cols   int
	rows   int
}

// Bounds of what waits to be handed to Run.
const maxAsks = 512

// Terminal makes a terminal of a Session. Run opens it.
func (c *Client) Terminal(id SessionID, o TerminalOptions, on TerminalHandler) *Terminal {
	if o.Watch {
		o.Cols, o.Rows = 0, 0
	}
	return &Terminal{
		client: c, session: id, on: on, watch: o.Watch, cols: o.Cols, rows: o.Rows, asks: make(chan func(*line), maxAsks),
		status: TerminalStatus{Hub: Link{State: claudehub.LinkDown, Since: time.Now()}},
	}
}

// Run keeps the terminal open until ctx ends, connecting again for ever, and returns ctx's error; or the Hub's answer when
// it refuses for good. It is called once.
func (t *Terminal) Run(ctx context.Context) error {
	return newLine(t).run(ctx)
}

// Status is how the terminal is now.
func (t *Terminal) Status() TerminalStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

var (
	errWatching  = claudehub.Errorf(claudehub.Forbidden, "Not sent: this terminal only watches.")
	errTypingOff = claudehub.Errorf(claudehub.Unavailable, "Not sent: typing is off until the terminal is linked again.")
	errTooMuch   = claudehub.Errorf(claudehub.TooMany, "Not sent: too much is still on its way to the terminal.")
)

// Keys sends bytes as they would come from a keyboard. While typing is off they are refused and not kept: what is typed
// into a screen that may be old must not arrive later.
func (t *Terminal) Keys(b []byte) error {
	b = append([]byte(nil), b...)
	return t.typed(func(l *line) { l.queue.keys(b) })
}

// Paste sends text as one paste.
func (t *Terminal) Paste(text string) error {
	switch {
	case text == "":
		return claudehub.Errorf(claudehub.Invalid, "Nothing was pasted: there is no text.")
	case len(text) > claudehub.MaxPaste:
		return claudehub.Errorf(claudehub.TooLarge, "Not pasted: it has %d KB and a paste holds at most %d KB. Put it in a file of the workspace instead.",
			(len(text)+1023)>>10, claudehub.MaxPaste>>10)
	}
	return t.typed(func(l *line) { l.queue.paste(text) })
}

func (t *Terminal) typed(do func(*line)) error {
	switch {
	case t.watch:
		return errWatching
	case !t.Status().Typing:
		return errTypingOff
	}
	return t.ask(func(l *line) {
		if !l.typing() { // it broke on the way here
			l.notice(errTypingOff.Message)
			return
		}
		do(l)
	})
}

// Resize tells what fits now. It counts when this terminal's size is the one in force.
func (t *Terminal) Resize(cols, rows int) error {
	if err := claudehub.ValidSize(cols, rows); err != nil {
		return err
	}
	if t.watch {
		return nil
	}
	t.mu.Lock()
	t.cols, t.rows = cols, rows
	t.mu.Unlock()
	return t.ask((*line).tellSize)
}

// Claim makes this terminal's size the one in force, as typing does.
func (t *Terminal) Claim() error {
	if t.watch {
		return errWatching
	}
	return t.ask((*line).claim)
}

// Refresh has the whole screen sent again, on another connection: for who cannot go on from what was drawn.
func (t *Terminal) Refresh() error {
	return t.ask(func(l *line) { l.drop(nil) })
}

func (t *Terminal) size() (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cols, t.rows
}

func (t *Terminal) ask(do func(*line)) error {
	select {
	case t.asks <- do:
		return nil
	default:
		return errTooMuch
	}
}
