package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// grid is what a Session's terminal shows, as cells.
type grid struct {
	emulator *vt.Emulator
	modes    map[int]bool // private modes that are set
}

// take draws a frame. An error means that the grid is of no use until the next snapshot.
func (g *grid) take(f client.Frame) (err error) {
	defer func() { // an emulator that stumbles over a Sandbox's bytes must not take the person's terminal with it
		if r := recover(); r != nil {
			g.emulator = nil
			err = fmt.Errorf("terminal emulator: %v", r)
		}
	}()
	if f.Kind == wire.FrameSnapshot {
		if err := claudehub.ValidSize(int(f.Cols), int(f.Rows)); err != nil {
			return err
		}
		g.reset(int(f.Cols), int(f.Rows))
	}
	if g.emulator == nil {
		return io.ErrUnexpectedEOF
	}
	_, err = g.emulator.Write(f.Data)
	return err
}

func (g *grid) reset(cols, rows int) {
	g.modes = map[int]bool{25: true}
	e := vt.NewEmulator(cols, rows)
	e.SetScrollbackSize(1)
	if answers, ok := e.InputPipe().(io.Closer); ok {
		answers.Close() // tmux answers the program's questions; an answer from here would wait for a reader for ever
	}
	set := func(m ansi.Mode, on bool) {
		if d, ok := m.(ansi.DECMode); ok {
			g.modes[int(d)] = on
		}
	}
	e.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { set(m, true) },
		DisableMode: func(m ansi.Mode) { set(m, false) },
	})
	g.emulator = e
}

// size is 0, 0 before the first snapshot.
func (g *grid) size() (cols, rows int) {
	if g.emulator == nil {
		return 0, 0
	}
	return g.emulator.Width(), g.emulator.Height()
}

// row writes the cells from column left on, width of them, as text and colours. Behind whatever a terminal may take for
// wider or narrower than we do, the column is said anew.
func (g *grid) row(out *strings.Builder, y, left, width int) {
	var pen uv.Style
	var link uv.Link
	sure := true
	for x := 0; x < width; {
		cell, w := g.cell(left+x, y)
		if x+w > width { // a wide one cut by the edge
			cell, w = uv.Cell{Content: " ", Width: 1, Style: cell.Style}, 1
		}
		if !sure {
			fmt.Fprintf(out, "\x1b[%dG", x+1)
		}
		if !cell.Style.Equal(&pen) {
			out.WriteString(uv.StyleDiff(&pen, &cell.Style))
			pen = cell.Style
		}
		if cell.Link != link {
			link = cell.Link
			out.WriteString(ansi.SetHyperlink(link.URL))
		}
		out.WriteString(cell.Content)
		sure = len(cell.Content) == 1
		x += w
	}
	if link != (uv.Link{}) {
		out.WriteString(ansi.ResetHyperlink())
	}
	out.WriteString("\x1b[0m")
}

// cell is one cell, made safe to print, and its width.
func (g *grid) cell(x, y int) (uv.Cell, int) {
	blank := uv.Cell{Content: " ", Width: 1}
	if cols, rows := g.size(); x >= cols || y >= rows {
		return blank, 1
	}
	c := g.emulator.CellAt(x, y)
	if c == nil || c.Width < 1 || c.Content == "" || !safe(c.Content) {
		if c != nil {
			blank.Style = c.Style
		}
		return blank, 1
	}
	out := *c
	if out.Link = (uv.Link{}); safeLink(c.Link.URL) {
		out.Link.URL = c.Link.URL
	}
	return out, c.Width
}

// safe refuses what a terminal would act on, and what turns the order of text around.
func safe(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return false
		}
	}
	return true
}

// safeLink lets web addresses through, for a person to click.
func safeLink(url string) bool {
	return (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")) && len(url) <= 2000 &&
		!strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
