package tmux

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// textWidth counts the cells of a captured row. It is a good guess for text that is not ASCII, where terminals differ.
func textWidth(text []byte) int {
	n := 0
	for len(text) > 0 {
		if text[0] == 0x1b {
			end := bytes.IndexByte(text, 'm')
			if end < 0 {
				return n
			}
			text = text[end+1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < ' ':
		return 0
	case r < 0x7f:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
