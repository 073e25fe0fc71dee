package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

const (
	frameTime = 8 * time.Millisecond   // between two drawings at the least
	syncTime  = 100 * time.Millisecond // a program may hold back an unfinished picture so long
	noteTime  = 5 * time.Second
)

// mirrored are the modes of the program that decide what the person's terminal sends.
var mirrored = []int{1, 66, 1000, 1002, 1003, 1006}

// display draws a Session's terminal into the person's. Its size is the person's, the grid's the Session's; one line at
// the bottom says what there is to say, and is not there otherwise.
type display struct {
	out   io.Writer
	drive bool
	line  func(client.TerminalStatus) string // what the bottom line says of a status; "" for nothing
	wake  chan struct{}

	mu         sync.Mutex
	grid       grid
	cols, rows int // of the person's terminal
	left, top  int // the grid's cell at the upper left
	panned     bool
	status     client.TerminalStatus
	note       string
	noteEnd    time.Time
	held       time.Time // since when a program holds its picture back

	// What the person's terminal was last told; the drawing goroutine's own.
	shown  []string
	modes  map[int]bool
	cursor string
}

func newDisplay(out io.Writer, drive bool, line func(client.TerminalStatus) string) *display {
	return &display{out: out, drive: drive, line: line, wake: make(chan struct{}, 1), modes: map[int]bool{}}
}

// Entering saves the title, takes the other screen, stops wrapping, and asks for pastes as pastes. Leaving undoes all
// that was ever set, known or not.
const (
	entering = "\x1b[22;0t\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[2J"
	leaving  = "\x1b[?2026l\x1b]8;;\x1b\\\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?7h\x1b[0 q\x1b[?25h\x1b[?1049l\x1b[23;0t"
)

func title(s string) string { return "\x1b]2;" + clean(s) + "\x1b\\" }

func (d *display) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// change alters what is to be drawn.
func (d *display) change(do func()) {
	d.mu.Lock()
	do()
	d.mu.Unlock()
	d.poke()
}

// frame takes output. Its error asks for a fresh snapshot.
func (d *display) frame(f client.Frame) (err error) {
	d.change(func() {
		err = d.grid.take(f)
		if !d.grid.modes[2026] {
			d.held = time.Time{}
		} else if d.held.IsZero() {
			d.held = time.Now()
		}
	})
	return err
}

// say shows a sentence for a while.
func (d *display) say(text string) {
	d.change(func() { d.note, d.noteEnd = clean(text), time.Now().Add(noteTime) })
}

// resize follows the person's terminal. All of it is drawn again: it may have moved what was there.
func (d *display) resize(cols, rows int) {
	d.change(func() { d.cols, d.rows, d.shown = cols, rows, nil })
}

// pan moves what is seen of a larger Session, in cells.
func (d *display) pan(dx, dy int) {
	d.change(func() {
		d.panned = true
		d.left, d.top = d.left+dx, d.top+dy
	})
}

// inGrid turns a place of the person's terminal into one of the Session's; both count from 1.
func (d *display) inGrid(x, y int) (gx, gy int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cols, rows := d.grid.size()
	gx, gy = x+d.left, y+d.top
	return gx, gy, gx >= 1 && gy >= 1 && gx <= cols && gy <= rows
}

// run draws until ctx ends, or the person's terminal takes nothing any more.
func (d *display) run(ctx context.Context) error {
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		text, again := d.compose()
		if text != "" {
			if _, err := io.WriteString(d.out, text); err != nil {
				return claudehub.WithCause(claudehub.Unavailable, err, "Your terminal is gone.")
			}
		}
		clock.Reset(frameTime)
		select { // drawings in a row are put together
		case <-ctx.Done():
			return nil
		case <-clock.C:
		}
		clock.Reset(again)
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		case <-clock.C:
		}
	}
}

// compose makes what changes the person's terminal into what it should show, and says when to look again.
func (d *display) compose() (text string, again time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cols < 1 || d.rows < 1 {
		return "", time.Minute
	}
	if since := time.Since(d.held); !d.held.IsZero() && since < syncTime {
		return "", syncTime - since
	}
	bottom, again := d.bottomLocked()
	height := d.rows
	if bottom != "" {
		height--
	}
	d.placeLocked(height)
	var out strings.Builder
	d.rowsLocked(&out, height, bottom)
	if d.drive {
		d.modesLocked(&out)
	}
	cursor := d.cursorLocked(height)
	if out.Len() == 0 && cursor == d.cursor {
		return "", again
	}
	d.cursor = cursor
	return "\x1b[?2026h\x1b[?25l" + out.String() + cursor + "\x1b[?2026l", again
}

// bottomLocked is the bottom line, and when it may be another.
func (d *display) bottomLocked() (string, time.Duration) {
	if text := d.line(d.status); text != "" {
		return text, time.Second // it tells the time
	}
	if left := time.Until(d.noteEnd); left > 0 {
		return d.note, left
	}
	cols, rows := d.grid.size()
	if cols > d.cols || rows > d.rows {
		how := "typing takes the size."
		if !d.drive {
			how = "arrow keys move."
		}
		return fmt.Sprintf("The Session is %d×%d, larger than this terminal: %s", cols, rows, how), time.Minute
	}
	return "", time.Minute
}

// placeLocked chooses what is seen of a larger Session: what is around the cursor, or where the person went.
func (d *display) placeLocked(height int) {
	cols, rows := d.grid.size()
	if d.grid.emulator != nil && !d.panned {
		at := d.grid.emulator.CursorPosition()
		d.left = follow(d.left, at.X, d.cols)
		d.top = follow(d.top, at.Y, height)
	}
	d.left = max(0, min(d.left, cols-d.cols))
	d.top = max(0, min(d.top, rows-height))
}

func follow(first, at, n int) int {
	if at < first {
		return at
	}
	return max(first, at-n+1)
}

func (d *display) rowsLocked(out *strings.Builder, height int, bottom string) {
	if len(d.shown) != d.rows {
		d.shown = make([]string, d.rows)
	}
	for y := range d.rows {
		var row strings.Builder
		switch {
		case y < height:
			d.grid.row(&row, d.top+y, d.left, d.cols)
		default:
			bar := ansi.Truncate(" "+bottom, d.cols, "…")
			row.WriteString("\x1b[0;7m" + bar + strings.Repeat(" ", d.cols-ansi.StringWidth(bar)) + "\x1b[0m")
		}
		if s := row.String(); s != d.shown[y] {
			d.shown[y] = s
			fmt.Fprintf(out, "\x1b[%d;1H\x1b[0m%s", y+1, s)
		}
	}
}

// modesLocked has the person's terminal send what the program expects. A mouse is reported in the modern form or not at
// all: the old ones cannot be told from keys.
func (d *display) modesLocked(out *strings.Builder) {
	for _, m := range mirrored {
		on := d.grid.modes[m]
		if m >= 1000 {
			on = on && d.grid.modes[1006]
		}
		if d.modes[m] == on {
			continue
		}
		d.modes[m] = on
		switch {
		case m == 66 && on:
			out.WriteString("\x1b=")
		case m == 66:
			out.WriteString("\x1b>")
		case on:
			fmt.Fprintf(out, "\x1b[?%dh", m)
		default:
			fmt.Fprintf(out, "\x1b[?%dl", m)
		}
	}
}

// cursorLocked puts the cursor where the Session has it, or hides it.
func (d *display) cursorLocked(height int) string {
	if d.grid.emulator == nil || d.grid.emulator.CursorHidden() {
		return "\x1b[?25l"
	}
	at := d.grid.emulator.CursorPosition()
	x, y := at.X-d.left, at.Y-d.top
	if x < 0 || y < 0 || x >= d.cols || y >= height {
		return "\x1b[?25l"
	}
	style, blink := d.grid.emulator.CursorStyle()
	n := 2*int(style) + 2
	if blink {
		n--
	}
	return fmt.Sprintf("\x1b[%d q\x1b[%d;%dH\x1b[?25h", n, y+1, x+1)
}
