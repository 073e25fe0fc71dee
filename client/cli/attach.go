package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/sync/errgroup"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// Viewing is how one looks at a Session's terminal.
type Viewing struct {
	DetachKey string `help:"What leaves the Session: ctrl- and a letter, or one of \\ ] ^ _." default:"ctrl-]" env:"CLAUDE_HUB_DETACH_KEY" placeholder:"KEY"`
}

// AttachCmd is a Session's terminal in the person's own.
type AttachCmd struct {
	Target
	Which
	Viewing
	Wake bool `help:"Wake the Session first, if it sleeps."`
}

// Run stays until the person detaches.
func (a *AttachCmd) Run(ctx context.Context, e *Env) error {
	c, s, err := a.Which.open(ctx, e, a.Target)
	if err != nil {
		return err
	}
	defer c.Close()
	if a.Wake {
		if s, err = c.Wake(ctx, s.ID); err != nil {
			return err
		}
	}
	return a.run(ctx, e, c, s, false)
}

// WatchCmd is attach without input.
type WatchCmd struct {
	Target
	Which
	Viewing
}

// Run stays until the person leaves.
func (w *WatchCmd) Run(ctx context.Context, e *Env) error {
	c, s, err := w.Which.open(ctx, e, w.Target)
	if err != nil {
		return err
	}
	defer c.Close()
	return w.run(ctx, e, c, s, true)
}

var errDetached = errors.New("detached")

// escapeTime is how long an Escape waits for what may follow it.
const escapeTime = 25 * time.Millisecond

// seat is a person at a Session's terminal.
type seat struct {
	session  client.Session
	watch    bool
	key      string
	term     *client.Terminal
	display  *display
	keyboard keyboard
}

func (v Viewing) run(ctx context.Context, e *Env, c *client.Client, s client.Session, watch bool) (err error) {
	if v.DetachKey == "" {
		v.DetachKey = "ctrl-]"
	}
	key, err := parseKey(v.DetachKey)
	if err != nil {
		return err
	}
	in, ok1 := terminal(e.In)
	out, ok2 := terminal(e.Out)
	if !ok1 || !ok2 {
		return claudehub.Errorf(claudehub.Invalid,
			"A Session's terminal needs a terminal, and standard input or output is none. For scripts there is: claude-hub sessions prompt --wait")
	}
	seat := &seat{session: s, watch: watch, key: v.DetachKey, keyboard: keyboard{leave: key}}
	seat.display = newDisplay(out, !watch, seat.line)
	cols, rows, err := size(out)
	if err != nil {
		return err
	}
	seat.display.resize(cols, rows)
	seat.display.say(v.hint(watch))
	seat.term = c.Terminal(s.ID, client.TerminalOptions{Cols: cols, Rows: rows, Watch: watch}, client.TerminalHandler{
		Frame:   seat.frame,
		Changed: func(st client.TerminalStatus) { seat.display.change(func() { seat.display.status = st }) },
		Notice:  seat.display.say,
	})
	err = seat.stay(ctx, in, out)
	if errors.Is(err, errDetached) {
		verb := "attach"
		if watch {
			verb = "watch"
		}
		fmt.Fprintf(e.Err, "Left %s. It goes on; come back with: claude-hub sessions %s %s\n", clean(s.Title), verb, s.ID)
		return nil
	}
	return err
}

func (v Viewing) hint(watch bool) string {
	if watch {
		return "Watching. " + v.DetachKey + " or q leaves."
	}
	return v.DetachKey + " leaves the Session; it goes on without you."
}

// stay takes the person's terminal, and hands it back however it ends.
func (s *seat) stay(ctx context.Context, in, out *os.File) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	restore, err := enter(in, out, s.session.Title)
	if err != nil {
		return err
	}
	defer restore()
	return s.sit(ctx, in, out)
}

// sit runs everything until one part ends.
func (s *seat) sit(ctx context.Context, in io.Reader, out fd) error {
	keys, err := cancelreader.NewReader(in)
	if err != nil {
		return claudehub.WithCause(claudehub.Internal, err, "The keyboard cannot be read.")
	}
	defer keys.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.term.Run(ctx) })
	g.Go(func() error { return s.display.run(ctx) })
	g.Go(func() error { return s.follow(ctx, out) })
	read := make(chan []byte)
	g.Go(func() error { return readKeys(ctx, keys, read) })
	g.Go(func() error { return s.typing(ctx, read) })
	g.Go(func() error {
		<-ctx.Done()
		keys.Cancel()
		return nil
	})
	return g.Wait()
}

func readKeys(ctx context.Context, keys io.Reader, to chan<- []byte) error {
	for {
		b := make([]byte, 4096)
		n, err := keys.Read(b)
		if errors.Is(err, cancelreader.ErrCanceled) {
			return nil
		}
		if err != nil {
			return claudehub.WithCause(claudehub.Unavailable, err, "Your terminal is gone.")
		}
		select {
		case to <- b[:n]:
		case <-ctx.Done():
			return nil
		}
	}
}

// typing acts on what the person does.
func (s *seat) typing(ctx context.Context, read <-chan []byte) error {
	escape := time.NewTimer(time.Hour)
	defer escape.Stop()
	var left error
	do := func(t typed) {
		if err := s.act(t); err != nil && left == nil {
			left = err
		}
	}
	for left == nil {
		escape.Reset(time.Hour)
		if s.keyboard.waits() {
			escape.Reset(escapeTime)
		}
		select {
		case <-ctx.Done():
			return nil
		case b := <-read:
			s.keyboard.feed(b, do)
		case <-escape.C:
			s.keyboard.flush(do)
		}
	}
	return left
}

// act does one thing. What is refused the bottom line says, if it does not say so already.
func (s *seat) act(t typed) error {
	var err error
	switch {
	case t.detach:
		return errDetached
	case s.watch:
		return s.look(t)
	case t.mouse != nil:
		err = s.point(*t.mouse)
	case t.paste != "":
		err = s.term.Paste(t.paste)
	case len(t.keys) > 0:
		s.display.change(func() { s.display.panned, s.display.noteEnd = false, time.Time{} })
		err = s.term.Keys(t.keys)
	}
	if err != nil && s.line(s.term.Status()) == "" {
		s.display.say(claudehub.MessageOf(err))
	}
	return nil
}

// point hands on a mouse report at the place of the Session it was made at. A pointer that only passes over a window
// with someone else's size is no act: it would take the size.
func (s *seat) point(m mouse) error {
	st := s.term.Status()
	x, y, ok := s.display.inGrid(m.x, m.y)
	if !ok || st.State == nil || m.hover() && !st.State.Owner {
		return nil
	}
	m.x, m.y = x, y
	return s.term.Keys(m.bytes())
}

// look is what keys do while watching. A key that is held down comes many at a time.
func (s *seat) look(t typed) error {
	for _, key := range split(t.keys) {
		if err := s.lookBy(key); err != nil {
			return err
		}
	}
	return nil
}

func (s *seat) lookBy(key string) error {
	switch key {
	case "q", "\x03":
		return errDetached
	case "\x1b[A", "\x1bOA", "k":
		s.display.pan(0, -1)
	case "\x1b[B", "\x1bOB", "j":
		s.display.pan(0, 1)
	case "\x1b[D", "\x1bOD", "h":
		s.display.pan(-4, 0)
	case "\x1b[C", "\x1bOC", "l":
		s.display.pan(4, 0)
	case "\x1b[5~":
		s.display.pan(0, -10)
	case "\x1b[6~":
		s.display.pan(0, 10)
	}
	return nil
}

func (s *seat) frame(f client.Frame) {
	if s.display.frame(f) != nil {
		_ = s.term.Refresh() // if even that is refused, the next output asks again
	}
}

// resized tells the Session of the size of the person's terminal, and that it counts.
func (s *seat) resized(cols, rows int) {
	s.display.resize(cols, rows)
	_ = s.term.Resize(cols, rows)
	if st := s.term.Status(); st.State != nil && st.State.Drive && !s.watch {
		_ = s.term.Claim()
	}
}
