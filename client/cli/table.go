package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

func itoa[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// clean makes what somebody else wrote fit for one line of a terminal.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != '\u200d' && r != '\ufe0f': // what joins emoji stays
			return -1
		}
		return r
	}, s))
}

// table writes columns that fit their widest cell, wide characters counted as they are shown. On a terminal the column
// named by flexible is cut so that lines do not wrap.
func table(out io.Writer, flexible int, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i := range r {
			r[i] = clean(r[i])
			widths[i] = max(widths[i], ansi.StringWidth(r[i]))
		}
	}
	if f, tty := terminal(out); tty {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil {
			over := 2*(len(widths)-1) - cols
			for _, w := range widths {
				over += w
			}
			widths[flexible] = max(min(widths[flexible], 10), widths[flexible]-max(over, 0))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			cell = ansi.Truncate(cell, widths[i], "…")
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
