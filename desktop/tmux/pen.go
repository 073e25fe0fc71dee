package tmux

import (
	"bytes"
	"strconv"
)

// pen is how the next cell is drawn, as tmux 3.3a knows it.
type pen struct {
	attrs      uint16
	under      uint8 // 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
	fg, bg, us colour
}

// colour is 0 for the default, else a kind in the top byte and a value.
type colour uint32

const (
	colourIndexed colour = 1 << 24 // 0 to 255
	colourRGB     colour = 2 << 24
	colourBasic   colour = 3 << 24 // 0 to 7, and 60 to 67 for the bright ones: the SGR code less 30 or 40
)

// attributeCodes are the SGR codes of the bits of attrs.
var attributeCodes = [...]int{1, 2, 3, 5, 7, 8, 9, 53}

func attribute(code int) uint16 {
	for i, c := range attributeCodes {
		if c == code {
			return 1 << i
		}
	}
	return 0
}

// apply takes the parameters of an SGR sequence, what is between "\x1b[" and "m".
func (p *pen) apply(params []byte) {
	if len(params) == 0 {
		*p = pen{}
		return
	}
	for more := true; more; {
		var param []byte
		param, params, more = bytes.Cut(params, []byte(";"))
		if bytes.IndexByte(param, ':') >= 0 {
			p.applyColon(param)
			continue
		}
		n := number(param, 0)
		if n != 38 && n != 48 && n != 58 {
			p.applyCode(n)
			continue
		}
		var c colour
		var ok bool
		if c, params, more, ok = colonlessColour(params, more); ok {
			p.set(n, c)
		}
	}
}

// colonlessColour reads the "5;n" or "2;r;g;b" after 38, 48 or 58.
func colonlessColour(params []byte, more bool) (c colour, rest []byte, restMore, ok bool) {
	next := func() int {
		if !more {
			return -1
		}
		var param []byte
		param, params, more = bytes.Cut(params, []byte(";"))
		return number(param, -1)
	}
	switch next() {
	case 5:
		c, ok = indexed(next())
	case 2:
		r, g, b := next(), next(), next()
		c, ok = rgb(r, g, b)
	}
	return c, params, more, ok
}

// applyColon takes one parameter with sub-parameters: 4:3, 38:5:1, 38:2::1:2:3.
func (p *pen) applyColon(param []byte) {
	f := bytes.Split(param, []byte(":"))
	if len(f) > 7 {
		return
	}
	at := func(i int) int {
		if i >= len(f) {
			return -1
		}
		return number(f[i], -1)
	}
	switch code := at(0); {
	case code == 4 && len(f) == 2 && at(1) >= 0 && at(1) <= 5:
		p.under = uint8(at(1))
	case code == 5 && len(f) == 2 && at(1) == 3:
		// tmux 3.3a writes overline, 53, so in a capture; no program means anything else by it.
		p.attrs |= attribute(53)
	case code != 38 && code != 48 && code != 58:
	case at(1) == 5:
		if c, ok := indexed(at(2)); ok {
			p.set(code, c)
		}
	case at(1) == 2:
		i := 3 // a colour space stands before the colours, empty as a rule
		if len(f) == 5 {
			i = 2
		}
		if c, ok := rgb(at(i), at(i+1), at(i+2)); ok {
			p.set(code, c)
		}
	}
}

func indexed(n int) (colour, bool) { return colourIndexed | colour(n), n >= 0 && n <= 255 }

func rgb(r, g, b int) (colour, bool) {
	ok := r >= 0 && r <= 255 && g >= 0 && g <= 255 && b >= 0 && b <= 255
	return colourRGB | colour(r<<16|g<<8|b)&0xffffff, ok
}

func (p *pen) set(code int, c colour) {
	switch code {
	case 38:
		p.fg = c
	case 48:
		p.bg = c
	case 58:
		p.us = c
	}
}

func (p *pen) applyCode(n int) {
	switch {
	case n == 0:
		*p = pen{}
	case n == 4:
		p.under = 1
	case n == 21:
		p.under = 2
	case n == 24:
		p.under = 0
	case n == 6:
		p.attrs |= attribute(5)
	case attribute(n) != 0:
		p.attrs |= attribute(n)
	case n == 22:
		p.attrs &^= attribute(1) | attribute(2)
	case n == 23, n == 25, n == 27, n == 28, n == 29:
		p.attrs &^= attribute(n - 20)
	case n == 55:
		p.attrs &^= attribute(53)
	case n >= 30 && n <= 37, n >= 90 && n <= 97:
		p.fg = colourBasic | colour(n-30)
	case n == 39:
		p.fg = 0
	case n >= 40 && n <= 47, n >= 100 && n <= 107:
		p.bg = colourBasic | colour(n-40)
	case n == 49:
		p.bg = 0
	case n == 59:
		p.us = 0
	}
}

// appendTo writes the sequence that makes a default pen this one; nothing for a default pen.
func (p pen) appendTo(dst []byte) []byte {
	if p == (pen{}) {
		return dst
	}
	dst = append(dst, "\x1b["...)
	code := func(n int) { dst = append(strconv.AppendInt(dst, int64(n), 10), ';') }
	for i, c := range attributeCodes {
		if p.attrs&(1<<i) != 0 {
			code(c)
		}
	}
	switch p.under {
	case 0:
	case 1:
		code(4)
	default:
		dst = append(dst, '4', ':', '0'+p.under, ';')
	}
	dst = p.fg.appendTo(dst, 30)
	dst = p.bg.appendTo(dst, 40)
	dst = p.us.appendTo(dst, 50)
	dst[len(dst)-1] = 'm'
	return dst
}

// appendTo writes a colour's parameters, each with a ';' behind.
func (c colour) appendTo(dst []byte, base int) []byte {
	value := int64(c & 0xffffff)
	sep := byte(';')
	if base == 50 {
		sep = ':' // an underline colour is not known in the old form everywhere
	}
	switch c &^ 0xffffff {
	case colourBasic:
		dst = strconv.AppendInt(dst, int64(base)+value, 10)
	case colourIndexed:
		dst = strconv.AppendInt(dst, int64(base)+8, 10)
		dst = append(dst, sep, '5', sep)
		dst = strconv.AppendInt(dst, value, 10)
	case colourRGB:
		dst = strconv.AppendInt(dst, int64(base)+8, 10)
		dst = append(dst, sep, '2', sep)
		if sep == ':' {
			dst = append(dst, sep)
		}
		dst = append(strconv.AppendInt(dst, value>>16, 10), sep)
		dst = append(strconv.AppendInt(dst, value>>8&0xff, 10), sep)
		dst = strconv.AppendInt(dst, value&0xff, 10)
	default:
		return dst
	}
	return append(dst, ';')
}

// number reads a parameter; empty is missing.
func number(b []byte, missing int) int {
	if len(b) == 0 {
		return missing
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > 1<<20 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
