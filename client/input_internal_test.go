package client

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/internal/wire"
)

// desk is an input queue whose time and link are the test's.
type desk struct {
	inputQueue
	clock   time.Time
	sent    []uint64
	losses  []string
	renewed int
}

func newDesk() *desk {
	d := &desk{clock: time.Unix(1000, 0)}
	d.inputQueue = inputQueue{
		timing: defaultTiming, now: func() time.Time { return d.clock },
		send:  func(up wire.TerminalUp) { d.sent = append(d.sent, up.N) },
		lost:  func(why string) { d.losses = append(d.losses, why) },
		renew: func() { d.renewed++; d.renumber() },
	}
	d.seen("life")
	d.opened()
	return d
}

func (d *desk) applies(n uint64) {
	d.report(wire.InputReport{Life: d.life, N: n, State: wire.InputApplied})
}

func (d *desk) refuses(n uint64) {
	d.report(wire.InputReport{Life: d.life, N: n, State: wire.InputRefused, Why: "no"})
}

func (d *desk) waits(by time.Duration) { d.clock = d.clock.Add(by); d.tick() }

func (d *desk) want(t *testing.T, what string, sent ...uint64) {
	t.Helper()
	if diff := cmp.Diff(sent, d.sent); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
	d.sent = nil
}

func TestInputIsSentAgainAboveWhatWasApplied(t *testing.T) {
	d := newDesk()
	for range 3 {
		d.keys([]byte("x"))
	}
	d.want(t, "typed", 1, 2, 3)
	d.stop()
	d.opened()
	d.keys([]byte("y"))
	d.want(t, "kept until the Runner said what it has")
	d.applies(2)
	d.want(t, "above it", 3, 4)
	d.waits(3 * time.Second)
	d.want(t, "patient")
	d.waits(time.Second)
	d.want(t, "without a word", 3, 4)
	d.applies(4)
	d.waits(time.Hour)
	d.want(t, "settled")
}

func TestInputOfAnotherLifeIsDropped(t *testing.T) {
	d := newDesk()
	d.keys([]byte("x"))
	d.seen("other")
	d.keys([]byte("y"))
	d.want(t, "numbered anew", 1, 1)
	if len(d.losses) != 1 {
		t.Errorf("it said %q", d.losses)
	}
	d.report(wire.InputReport{Life: "other", N: 1, State: wire.InputExpired})
	d.keys([]byte("z"))
	d.want(t, "over")
	if len(d.losses) != 3 {
		t.Errorf("it said %q", d.losses)
	}
}

func TestRefusedInputIsTriedAgain(t *testing.T) {
	d := newDesk()
	d.keys([]byte("x"))
	d.want(t, "typed", 1)
	for range maxRefusals - 1 {
		d.refuses(1)
		d.waits(10 * time.Second)
		d.want(t, "again", 1)
	}
	d.refuses(1)
	if d.renewed != 1 || len(d.losses) != 1 || d.losses[0] != "no" {
		t.Errorf("renewed %d times, said %q", d.renewed, d.losses)
	}
}

func TestInputIsBounded(t *testing.T) {
	d := newDesk()
	for range maxPending + 5 {
		d.keys([]byte("x"))
	}
	if len(d.pending) != maxPending || len(d.losses) != 5 {
		t.Errorf("%d wait, %d are refused", len(d.pending), len(d.losses))
	}
}

// FuzzEvents: a stream of anything ends without more memory than its bound, and gives only whole events.
func FuzzEvents(f *testing.F) {
	f.Add("event: ready\ndata: {}\n\n:\n\nevent: session\ndata: {\"id\":\"ses_1\"}\n\n")
	f.Add("event: prompt\ndata: null\n\nevent: other\ndata: x\n\nevent: runner\ndata: [\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		err := readEvents(strings.NewReader(in), func() {}, func(e Event) error {
			if e == (Event{}) {
				t.Errorf("an empty event of %q", in)
			}
			return nil
		})
		if errors.Is(err, bufio.ErrTooLong) && len(in) < eventLimit {
			t.Errorf("%d bytes are too long", len(in))
		}
	})
}
