package tmux

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// Bounds of what a peer can make a Parser hold.
const (
	maxLine  = 1 << 20
	maxBlock = 32 << 20
)

// Errors of a Parser. They are final: the place in the stream is lost.
var (
	ErrLineTooLong   = errors.New("tmux: a control-mode line is too long")
	ErrBlockTooLarge = errors.New("tmux: the answer to a command is too large")
)

// Parser turns control-mode bytes into Events. It does no I/O; the zero value is ready.
type Parser struct {
	rest      []byte // a line whose end has not come yet
	block     *Block
	blockSize int
	decoded   []byte // reused for Output.Data
	err       error
}

// Feed parses data, which may end anywhere, and hands each Event to emit. An error is final.
func (p *Parser) Feed(data []byte, emit func(Event)) error {
	for p.err == nil {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		line := data[:end]
		if len(p.rest) > 0 {
			p.rest = append(p.rest, line...)
			line = p.rest
		}
		data = data[end+1:]
		if len(line) > maxLine {
			p.err = ErrLineTooLong
			break
		}
		p.line(line, emit)
		p.rest = p.rest[:0]
	}
	if p.err == nil && len(p.rest)+len(data) > maxLine {
		p.err = ErrLineTooLong
	}
	if p.err != nil {
		p.rest, p.block = nil, nil
		return p.err
	}
	p.rest = append(p.rest, data...)
	return nil
}

func (p *Parser) line(line []byte, emit func(Event)) {
	if p.block != nil {
		p.blockLine(line, emit)
		return
	}
	word, args := cut(line)
	switch string(word) {
	case "%output":
		pane, escaped := cut(args)
		p.output(Output{Pane: string(pane), Age: -1}, escaped, emit)
	case "%extended-output":
		p.extendedOutput(line, args, emit)
	case "%begin":
		if b, ok := parseGuard(args); ok {
			p.block, p.blockSize = &b, 0
			return
		}
		emit(Unknown{string(line)})
	case "%pause":
		emit(Pause{string(args)})
	case "%continue":
		emit(Continue{string(args)})
	case "%exit":
		emit(Exit{string(args)})
	default:
		if name, ok := strings.CutPrefix(string(word), "%"); ok && notices[name] {
			emit(Notice{Name: name, Args: string(args)})
			return
		}
		emit(Unknown{string(line)})
	}
}

// blockLine takes a line of an answer. The answer ends at the guard with the time, number and flags of its %begin, no
// other: the content may look like a guard.
func (p *Parser) blockLine(line []byte, emit func(Event)) {
	if bytes.HasPrefix(line, []byte("%e")) {
		word, args := cut(line)
		failed := string(word) == "%error"
		if failed || string(word) == "%end" {
			if g, ok := parseGuard(args); ok && g.Time == p.block.Time && g.Number == p.block.Number && g.Flags == p.block.Flags {
				b := *p.block
				b.Failed = failed
				p.block = nil
				emit(b)
				return
			}
		}
	}
	const perLine = 24 // a slice header, so that empty lines count too
	p.blockSize += len(line) + perLine
	if p.blockSize > maxBlock {
		p.err = ErrBlockTooLarge
		return
	}
	p.block.Lines = append(p.block.Lines, bytes.Clone(line))
}

// extendedOutput parses "%pane age ... : data"; tmux may put more words before the colon some day.
func (p *Parser) extendedOutput(line, args []byte, emit func(Event)) {
	head, escaped, ok := bytes.Cut(args, []byte(" : "))
	pane, more := cut(head)
	ms, _ := cut(more)
	age, err := strconv.ParseInt(string(ms), 10, 64)
	if !ok || err != nil || age < 0 {
		emit(Unknown{string(line)})
		return
	}
	p.output(Output{Pane: string(pane), Age: age}, escaped, emit)
}

func (p *Parser) output(o Output, escaped []byte, emit func(Event)) {
	p.decoded = appendUnescaped(p.decoded[:0], escaped)
	o.Data = p.decoded
	emit(o)
}

// appendUnescaped decodes tmux's \ooo. A backslash that begins none stays as it is.
func appendUnescaped(dst, src []byte) []byte {
	for {
		i := bytes.IndexByte(src, '\\')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(dst, src[:i]...)
		src = src[i:]
		if len(src) >= 4 && src[1] >= '0' && src[1] <= '3' && isOctal(src[2]) && isOctal(src[3]) {
			dst = append(dst, (src[1]-'0')<<6|(src[2]-'0')<<3|(src[3]-'0'))
			src = src[4:]
			continue
		}
		dst = append(dst, '\\')
		src = src[1:]
	}
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// parseGuard reads the "time number flags" of %begin, %end and %error.
func parseGuard(args []byte) (Block, bool) {
	f := strings.Fields(string(args))
	if len(f) != 3 {
		return Block{}, false
	}
	t, err1 := strconv.ParseInt(f[0], 10, 64)
	n, err2 := strconv.ParseUint(f[1], 10, 64)
	flags, err3 := strconv.Atoi(f[2])
	return Block{Time: t, Number: n, Flags: flags}, err1 == nil && err2 == nil && err3 == nil
}

// cut splits at the first space.
func cut(line []byte) (word, rest []byte) {
	word, rest, _ = bytes.Cut(line, []byte(" "))
	return word, rest
}
