package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"claude-hub/internal/claudehub"
)

const (
	maxSize    = 1000 // columns or rows; also a bound for what a Sandbox may claim
	maxHistory = 5000
	// pauseAfter bounds what tmux holds for us, in seconds.
	pauseAfter = "pause-after=5"
	// answerTime is how long tmux may take to answer what the Terminal itself asks.
	answerTime = 20 * time.Second
)

// FrameKind tells how a Frame is to be taken.
type FrameKind uint8

// The kinds of Frame.
const (
	// Snapshot replaces all that was before: its bytes reset the viewer.
	Snapshot FrameKind = iota + 1
	// Delta goes on where the Frame before ended.
	Delta
)

// Frame is a piece of a terminal's stream. Its Data belongs to the receiver.
type Frame struct {
	Kind FrameKind
	// Gap marks a Snapshot that a viewer must take even if it followed all Deltas: the size changed, or output was left out.
	Gap bool
	// Seq is the number of Delta bytes that this Terminal gave before this Frame.
	Seq        uint64
	Cols, Rows uint16 // the pane's; a viewer of another size must scale or scroll
	Data       []byte
}

// Options of a Terminal.
type Options struct {
	// History is how many lines of scrollback a Snapshot has that nobody asked for: at the start, after a resize, after a
	// gap. At most 5000.
	History int
	// Died, when set, is called on the reader's goroutine when tmux says that the pane's program has ended. tmux 3.3a
	// does not always say it (seen under load, one time in eight): who must know asks Dead as well.
	Died func()
}

// Terminal is the pane of a Sandbox: its screen, its keyboard, its process. New builds it, Run works it; the other methods
// may be called from any goroutine, wait until Run is ready and fail when it has ended. Each obeys its context.
type Terminal struct {
	client  *Client
	options Options
	screen  screen   // the reader's goroutine alone
	keys    keyboard // see there

	ready      chan struct{}          // closed when pane is known
	pane       atomic.Pointer[string] // its id, once it is known
	clientName string                 // our name at tmux, for the hook
	ended      chan struct{}

	wake chan struct{} // tells loop to look at plan
	mu   sync.Mutex
	plan plan
}

// NewTerminal makes a Terminal of a transport to AttachCommand. sink gets the Frames, in order, on Run's goroutine: it must be quick,
// since while it runs nothing is read.
func NewTerminal(rw io.ReadWriteCloser, sink func(Frame), options Options) *Terminal {
	options.History = min(max(options.History, 0), maxHistory)
	t := &Terminal{
		options: options,
		ready:   make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	t.keys.lock = make(chan struct{}, 1)
	t.plan = plan{snapshot: true, hook: true, history: options.History}
	t.screen = screen{sink: sink, tracker: newTracker(), lost: true, tokens: floodBurst, refilled: time.Now(), ask: t.ask, died: options.Died}
	t.client = New(rw, t.handle)
	return t
}

// Run works until ctx ends, which is no error, or the transport or the pane is gone. It closes the transport.
func (t *Terminal) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer close(t.ended)
	looped := make(chan error, 1)
	go func() {
		err := t.loop(ctx)
		if err != nil {
			cancel(err) // closes the transport, which ends the reader
		}
		looped <- err
	}()
	err := t.client.Run(ctx)
	cancel(nil)
	lerr := <-looped
	if lerr != nil && !errors.Is(lerr, ErrClosed) {
		return lerr
	}
	return err
}

// handle takes what tmux says, on the reader's goroutine.
func (t *Terminal) handle(e Event) {
	switch e := e.(type) {
	case Output:
		if t.isPane(e.Pane) {
			t.screen.output(e.Data)
		}
	case Drained:
		t.screen.drained(time.Now())
	case Pause:
		if t.isPane(e.Pane) {
			t.screen.gap()
			t.ask(func(p *plan) { p.resumeAt = time.Now(); p.paused = true })
		}
	}
}

// isPane tells whether a pane is ours. There is one, and until its name is known all output is dropped anyhow.
func (t *Terminal) isPane(pane string) bool {
	own := t.pane.Load()
	return own == nil || pane == *own
}

// RequestSnapshot asks for a Snapshot Frame with up to history lines of scrollback. It does not wait. Requests made while
// one waits to be sent become one; a request made after that gets a newer one.
func (t *Terminal) RequestSnapshot(history int) {
	t.ask(func(p *plan) { p.want(min(max(history, 0), maxHistory)) })
}

// ask changes the plan and wakes the loop.
func (t *Terminal) ask(change func(*plan)) {
	t.mu.Lock()
	change(&t.plan)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Resize makes the pane cols by rows and emits a Snapshot of that size. Of several calls within the settle time the last
// wins; all return when it is done.
func (t *Terminal) Resize(ctx context.Context, cols, rows uint16) error {
	if cols < 2 || rows < 2 || cols > maxSize || rows > maxSize {
		return claudehub.Errorf(claudehub.Invalid, "A terminal of %d columns and %d rows is not possible: both must be between 2 and %d.", cols, rows, maxSize)
	}
	done := make(chan error, 1)
	t.ask(func(p *plan) {
		p.cols, p.rows = cols, rows
		p.resized = append(p.resized, done)
	})
	select {
	case err := <-done:
		return person(err)
	case <-t.ended:
		return person(ErrClosed)
	case <-ctx.Done():
		return person(context.Cause(ctx))
	}
}

// waitReady waits until the pane is known.
func (t *Terminal) waitReady(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	default:
	}
	select {
	case <-t.ready:
		return nil
	case <-t.ended:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do runs commands once the Terminal is set up.
func (t *Terminal) do(ctx context.Context, cmds ...Command) (Reply, error) {
	if err := t.waitReady(ctx); err != nil {
		return Reply{}, person(err)
	}
	r, err := t.client.Do(ctx, cmds...)
	return r, person(err)
}

// person gives an error the sentence for the person who sees it.
func person(err error) error {
	var known *claudehub.Error
	var command *CommandError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &command):
		return claudehub.WithCause(claudehub.Internal, err, "The Session's terminal refused a command. Restarting Claude Code in the Session helps as a rule.")
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("terminal: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return claudehub.WithCause(claudehub.Unavailable, err, "The Session's terminal did not answer in time. Try again; if it stays so, put the Session to sleep and wake it.")
	default:
		return claudehub.WithCause(claudehub.Unavailable, err, "The Session's terminal is not connected. It is connected again by itself; try again in a moment.")
	}
}

func size(n uint16) string { return strconv.Itoa(int(n)) }
