package runner

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Scrollback lines in a snapshot that nobody asked for, and the size of a terminal that nobody has sized yet.
const (
	ownHistory  = 1000
	defaultCols = 120
	defaultRows = 36
)

// seat is an attached terminal: where one sits to work with Claude.
type seat struct {
	term *tmux.Terminal
	proc sandbox.Process
	life string
	ask  time.Duration // bounds each question to tmux: one in a frozen Sandbox never answers
	died chan struct{} // a token: Claude's process ended
	done chan struct{} // closed when the terminal's goroutine has ended
	end  context.CancelFunc

	output  atomic.Int64 // when the screen last changed, Unix nanoseconds
	entered time.Time    // when a prompt's Enter was pressed; of the tending goroutine, as is the next
	enters  int          // how often it was pressed
	ready   time.Time    // when Claude was first seen at its prompt
}

func (s *session) sitting() *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seat
}

// socket is where the tmux server of a life listens, in the Sandbox. A new life never meets an old server.
func socket(life string) string { return "/tmp/claude-hub-" + life }

// takeSeatAgain attaches to the tmux server of a life that goes on, once whoever sat there before has left.
func (s *session) takeSeatAgain(ctx context.Context, life string) error {
	if err := s.awaitEmptySeat(ctx, life); err != nil {
		return err
	}
	return s.takeSeat(ctx, life)
}

// takeSeat attaches to the tmux server of a life, to which nobody else is attached.
func (s *session) takeSeat(ctx context.Context, life string) error {
	path, args := tmux.AttachCommand(socket(life))
	proc, err := s.on.cfg.Backend.Exec(ctx, s.box(), sandbox.Command{Path: path, Args: args, Dir: "/"})
	if err != nil {
		return err
	}
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	seat := &seat{proc: proc, life: life, ask: s.on.cfg.patient(askTime), died: make(chan struct{}, 1), done: make(chan struct{}), end: end}
	// A Terminal counts from zero, and a life may have several: one per Runner process. Two bytes a microsecond is more
	// than a Terminal passes on, so that each counts on above the one before; and the number is exact in a browser.
	base := uint64(2 * time.Now().UnixMicro())
	large := false
	sink := func(f tmux.Frame) {
		seat.output.Store(time.Now().UnixNano())
		if f.Kind == tmux.Snapshot {
			// Too many colours for one frame: the screen alone has to do. If even that does not fit, nothing does.
			again := len(f.Data) > wire.MaxFrame && !large
			large = len(f.Data) > wire.MaxFrame
			if again {
				seat.term.RequestSnapshot(0)
			}
			if large {
				s.log.Warn("snapshot too large to send", "bytes", len(f.Data))
				return
			}
		}
		s.screen.add(wire.Frame{
			Kind: wire.FrameKind(f.Kind), Fresh: f.Gap, Life: life, Seq: base + f.Seq, Cols: f.Cols, Rows: f.Rows, Data: f.Data,
		})
	}
	seat.term = tmux.NewTerminal(duplex{proc}, sink, tmux.Options{History: ownHistory, Died: func() {
		select {
		case seat.died <- struct{}{}:
		default:
		}
	}})
	go func() {
		defer close(seat.done)
		if err := seat.term.Run(run); err != nil {
			s.log.Debug("terminal ended", "error", err)
		}
		_ = proc.Close()
	}()
	if _, _, err := seat.term.Dead(ctx); err != nil {
		end()
		<-seat.done
		return err
	}
	s.mu.Lock()
	s.seat = seat
	s.mu.Unlock()
	s.inputs.wake.set() // a size wished for, or a question asked, while there was no terminal
	s.screen.wake.set() // likewise a snapshot: the Terminal's own first one went to nobody who attached after it
	s.ports.wake.set()
	return nil
}

// awaitEmptySeat waits until nobody is attached to the tmux server of a life: one that was left a moment ago may still
// be there, and tmux 3.3a can crash when a control client ends while the next one attaches.
func (s *session) awaitEmptySeat(ctx context.Context, life string) error {
	ctx, cancel := context.WithTimeout(ctx, s.on.cfg.patient(askTime))
	defer cancel()
	for {
		said, err := s.runInBox(ctx, tmuxCommand(life, "list-clients"))
		if err != nil || said == "" {
			return err
		}
		newSignal().wait(ctx, 20*time.Millisecond)
	}
}

// leaveSeat detaches. tmux and Claude go on.
func (s *session) leaveSeat() {
	s.mu.Lock()
	seat := s.seat
	s.seat = nil
	s.mu.Unlock()
	if seat != nil {
		seat.end()
		<-seat.done
	}
	s.ports.wake.set()
}

// duplex makes of a process the two-way stream that a Terminal wants. What the process says on stderr is dropped: the
// end of the stream tells enough.
type duplex struct{ p sandbox.Process }

func (t duplex) Read(b []byte) (int, error)  { return t.p.Stdout().Read(b) }
func (t duplex) Write(b []byte) (int, error) { return t.p.Stdin().Write(b) }
func (t duplex) Close() error                { return t.p.Close() }

var _ io.ReadWriteCloser = duplex{}

// quietFor tells how long the screen has not changed.
func (t *seat) quietFor() time.Duration { return time.Since(time.Unix(0, t.output.Load())) }

// over tells that the terminal or Claude in it has ended.
func (t *seat) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return len(t.died) > 0
	}
}

// askTime bounds each question to a Sandbox.
const askTime = 5 * time.Second

// text returns what the terminal shows.
func (t *seat) text(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.ask)
	defer cancel()
	return t.term.Text(ctx)
}

// dead tells whether Claude's process has ended.
func (t *seat) dead(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, t.ask)
	defer cancel()
	dead, _, err := t.term.Dead(ctx)
	return dead, err
}

// lastInput is the number of the Runner's own input that tmux took last.
func (t *seat) lastInput(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.ask)
	defer cancel()
	return t.term.Applied(ctx, promptTerminal)
}

// nextInput numbers the Runner's own input.
func (t *seat) nextInput(ctx context.Context) (uint64, error) {
	n, err := t.lastInput(ctx)
	return n + 1, err
}

// press sends a key as the Runner's own input.
func (t *seat) press(ctx context.Context, key string) error {
	n, err := t.nextInput(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.ask)
	defer cancel()
	return t.term.Keys(ctx, promptTerminal, n, []byte(key))
}

// adopt attaches to what runs already; false when there is nothing whole to attach to.
func (s *session) adopt(ctx context.Context, d wire.DesiredSession) bool {
	life := s.facts().Life
	if life == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.on.cfg.patient(10*time.Second))
	defer cancel()
	if err := s.takeSeatAgain(ctx, life); err != nil {
		s.log.Info("nothing to take up", "error", err)
		return false
	}
	memory := s.saw().Figures.MemoryLimit
	if memory == 0 {
		recipe, _ := recipeOf(d)
		memory = recipe.Memory
	}
	s.on.room.hold(s.id, needs(s.on.cfg.Backend, memory))
	s.see(ctx, func(o *claudehub.Observed) { o.SandboxLink = claudehub.Link{State: claudehub.LinkUp, Since: now()} })
	return true
}

func (s *session) requestSnapshot(history int) bool {
	seat := s.sitting()
	if seat != nil {
		seat.term.RequestSnapshot(history)
	}
	return seat != nil
}

// attach notes a Hub's viewers and answers what they asked.
func (s *session) attach(m wire.Attach) {
	s.screen.attach(m)
	s.ports.wake.set()
	if m.Terminal != "" {
		s.inputs.ask(m.Terminal)
	}
}

// resize sets the terminal's size for the Creator's active client.
func (s *session) resize(m wire.Resize) {
	if !s.mayDrive(m.Author) {
		s.on.refused.note(s.id, drivingResize)
		return
	}
	if claudehub.ValidSize(m.Cols, m.Rows) == nil {
		s.inputs.size(m.Cols, m.Rows)
	}
}
