package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"claude-hub/internal/claudehub"
)

// typed is one piece of what a person did at the keyboard: exactly one field is set.
type typed struct {
	keys   []byte
	paste  string
	mouse  *mouse
	detach bool
}

// mouse is a report in SGR form, counted from 1.
type mouse struct {
	button, x, y int
	release      bool
}

// hover tells a pointer that only passes over.
func (m mouse) hover() bool { return m.button&32 != 0 && m.button&3 == 3 }

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	maxReport  = 32 // bytes of a mouse report
)

// keyboard takes the bytes of the person's terminal apart, split wherever they may be.
type keyboard struct {
	leave byte // the detach key

	held    []byte // the start of what may be a paste or a mouse report
	pasting bool
	text    []byte
}

// feed takes bytes, and tells what they mean. What may go on is held until the next feed, or flush.
func (k *keyboard) feed(b []byte, do func(typed)) {
	in := slices.Concat(k.held, b)
	k.held = nil
	var keys []byte
	send := func() {
		if len(keys) > 0 {
			do(typed{keys: keys})
			keys = nil
		}
	}
	for len(in) > 0 {
		switch {
		case k.pasting:
			in = k.pasted(in, do)
			if k.pasting {
				return
			}
		case in[0] == k.leave:
			send()
			do(typed{detach: true})
			in = in[1:]
		case in[0] != 0x1b:
			n := bytes.IndexAny(in, string([]byte{0x1b, k.leave}))
			if n < 0 {
				n = len(in)
			}
			keys, in = append(keys, in[:n]...), in[n:]
		case bytes.HasPrefix(in, []byte(pasteStart)):
			send()
			k.pasting, in = true, in[len(pasteStart):]
		case strings.HasPrefix(pasteStart, string(in)):
			send()
			k.held = in
			return
		default:
			m, size, whole := mouseReport(in)
			switch {
			case m != nil:
				send()
				do(typed{mouse: m})
				in = in[size:]
			case !whole:
				send()
				k.held = in
				return
			default:
				keys, in = append(keys, in[0]), in[1:]
			}
		}
	}
	send()
}

// pasted takes what belongs to the paste at hand, and returns the rest.
func (k *keyboard) pasted(in []byte, do func(typed)) []byte {
	end := bytes.Index(in, []byte(pasteEnd))
	if end < 0 {
		keep := 0
		for n := min(len(pasteEnd)-1, len(in)); n > 0; n-- {
			if bytes.HasSuffix(in, []byte(pasteEnd[:n])) {
				keep = n
				break
			}
		}
		k.add(in[:len(in)-keep])
		k.held = append([]byte(nil), in[len(in)-keep:]...)
		return nil
	}
	k.add(in[:end])
	text := strings.ReplaceAll(strings.ReplaceAll(string(k.text), "\r\n", "\n"), "\r", "\n") // terminals paste Enter for a line's end
	k.pasting, k.text = false, nil
	do(typed{paste: text})
	return in[end+len(pasteEnd):]
}

// add keeps a paste's text, one byte over the limit at the most: enough to be refused.
func (k *keyboard) add(b []byte) {
	if room := claudehub.MaxPaste + 1 - len(k.text); len(b) > room {
		b = b[:room]
	}
	k.text = append(k.text, b...)
}

// flush gives up on what was held: nothing came after it, so it was a key, Escape most likely.
func (k *keyboard) flush(do func(typed)) {
	if k.pasting || len(k.held) == 0 {
		return // a paste goes on, however slowly
	}
	keys := k.held
	k.held = nil
	do(typed{keys: keys})
}

// waits tells that something is held that a flush would send.
func (k *keyboard) waits() bool { return !k.pasting && len(k.held) > 0 }

// mouseReport reads ESC [ < button ; x ; y M or m. whole is false while it may go on.
func mouseReport(in []byte) (m *mouse, size int, whole bool) {
	const start = "\x1b[<"
	if len(in) < len(start) {
		return nil, 0, !strings.HasPrefix(start, string(in))
	}
	if !bytes.HasPrefix(in, []byte(start)) {
		return nil, 0, true
	}
	end := bytes.IndexFunc(in[len(start):], func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
	switch {
	case end < 0:
		return nil, 0, len(in) > maxReport
	case in[len(start)+end] != 'M' && in[len(start)+end] != 'm':
		return nil, 0, true
	}
	parts := strings.Split(string(in[len(start):len(start)+end]), ";")
	if len(parts) != 3 {
		return nil, 0, true
	}
	var n [3]int
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil {
			return nil, 0, true
		}
	}
	return &mouse{button: n[0], x: n[1], y: n[2], release: in[len(start)+end] == 'm'}, len(start) + end + 1, true
}

func (m mouse) bytes() []byte {
	final := 'M'
	if m.release {
		final = 'm'
	}
	return fmt.Appendf(nil, "\x1b[<%d;%d;%d%c", m.button, m.x, m.y, final)
}

// split takes apart what came at once: a key is ESC [ or ESC O and what follows up to a letter or ~, or one byte.
func split(b []byte) []string {
	var out []string
	for len(b) > 0 {
		n := 1
		if len(b) > 2 && b[0] == 0x1b && (b[1] == '[' || b[1] == 'O') {
			n = 3
			for n < len(b) && b[n-1] < '@' {
				n++
			}
		}
		out, b = append(out, string(b[:n])), b[n:]
	}
	return out
}

// detachKeys may go with ctrl. Others are other keys' bytes: backspace, tab, line feed, Enter, Escape.
const detachKeys = `abcdefgklnopqrstuvwxyz\]^_`

// parseKey reads a detach key: ctrl-] or ctrl-a and the like.
func parseKey(s string) (byte, error) {
	rest, ok := strings.CutPrefix(strings.ToLower(s), "ctrl-")
	if ok && len(rest) == 1 && strings.Contains(detachKeys, rest) {
		return rest[0] & 0x1f, nil
	}
	return 0, claudehub.Errorf(claudehub.Invalid, `%q cannot be the detach key. Use ctrl- and a letter (not h, i, j or m), or one of \ ] ^ _.`, clean(s))
}
