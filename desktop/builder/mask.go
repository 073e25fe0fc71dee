package builder

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// mask replaces secrets in a stream with ***, also those that come in pieces. It holds back no more than what may be the
// beginning of one.
type mask struct {
	out   func([]byte)
	first [256][][]byte // secrets by their first byte, the longest first
	held  []byte
}

// Shorter ones are no secrets, and would leave nothing to read. A line of a longer one is a secret by itself: programs
// print keys line by line.
const (
	shortestSecret = 3
	shortestLine   = 8
)

var stars = []byte("***")

func newMask(secrets []string, out func([]byte)) *mask {
	m := &mask{out: out}
	known := map[string]bool{}
	add := func(s string, least int) {
		if len(s) >= least && !known[s] {
			known[s] = true
			m.first[s[0]] = append(m.first[s[0]], []byte(s))
		}
	}
	for _, s := range secrets {
		add(s, shortestSecret)
		add(strings.TrimSpace(s), shortestSecret)
		if strings.ContainsAny(s, "\n") {
			for line := range strings.Lines(s) {
				add(strings.TrimSpace(line), shortestLine)
			}
		}
	}
	for i := range m.first {
		slices.SortFunc(m.first[i], func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	}
	return m
}

func (m *mask) write(p []byte) {
	if len(m.held) > 0 {
		p = append(m.held, p...)
		m.held = nil
	}
	m.scan(p, false)
}

// end gives out what was held back.
func (m *mask) end() {
	p := m.held
	m.held = nil
	m.scan(p, true)
}

// scan gives out p, but for what may be the beginning of a secret that goes on in the next piece.
func (m *mask) scan(p []byte, final bool) {
	plain := 0 // from here on nothing was given out
	for i := 0; i < len(p); {
		n, more := m.match(p[i:])
		if more && !final {
			m.out(p[plain:i])
			m.held = slices.Clone(p[i:])
			return
		}
		if n == 0 {
			i++
			continue
		}
		m.out(p[plain:i])
		m.out(stars)
		i += n
		plain = i
	}
	m.out(p[plain:])
}

// match is the length of the longest secret that p begins with; more, that a longer one may.
func (m *mask) match(p []byte) (n int, more bool) {
	for _, s := range m.first[p[0]] {
		switch {
		case len(p) < len(s):
			more = more || bytes.HasPrefix(s, p)
		case bytes.HasPrefix(p, s):
			return len(s), more
		}
	}
	return 0, more
}
