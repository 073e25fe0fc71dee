package runner

import (
	"testing"

	"claude-hub/internal/claudehub"
)

func ids(n int) []claudehub.SessionID {
	all := make([]claudehub.SessionID, n)
	for i := range all {
		all[i] = claudehub.NewSessionID()
	}
	return all
}

// TestRoomIsGivenInLine: the first that waits comes in first, also when a later one would fit before.
func TestRoomIsGivenInLine(t *testing.T) {
	const gb = 1 << 30
	r := newRoom(0, 10*gb, 4*gb) // 2 are kept for the machine
	who := ids(4)
	if w := r.ask(who[0], 6*gb); !w.isIn() {
		t.Fatal("the first does not come in")
	}
	large, small := r.ask(who[1], 4*gb), r.ask(who[2], 1*gb)
	if large.isIn() || small.isIn() || small.before != 1 {
		t.Fatalf("large %t, small %t behind %d", large.isIn(), small.isIn(), small.before)
	}
	if in, most := r.size(); in != 1 || most != 1 {
		t.Errorf("%d of %d", in, most)
	}
	r.leave(who[0])
	if !large.isIn() || !small.isIn() {
		t.Errorf("large %t, small %t", large.isIn(), small.isIn())
	}
	if in, most := r.size(); in != 2 || most != 2 { // 3 GB left: no room for a usual one
		t.Errorf("%d of %d", in, most)
	}
}

// TestRoomForOne: however small the machine, one Session runs; and one that gave up makes room for nobody's harm.
func TestRoomForOne(t *testing.T) {
	r := newRoom(0, 1<<30, 4<<30)
	who := ids(3)
	first, second, third := r.ask(who[0], 4<<30), r.ask(who[1], 4<<30), r.ask(who[2], 4<<30)
	if !first.isIn() || second.isIn() {
		t.Fatalf("first %t, second %t", first.isIn(), second.isIn())
	}
	if again := r.ask(who[0], 4<<30); !again.isIn() {
		t.Error("who is in does not stay in")
	}
	r.giveUp(second)
	r.leave(who[0])
	if !third.isIn() {
		t.Error("the third does not come in after the second gave up")
	}
	r.giveUp(third) // it came in as it gave up
	if in, most := r.size(); in != 0 || most != 1 {
		t.Errorf("%d of %d", in, most)
	}
}

// TestRoomByNumber: what the machine's owner says counts, and what runs already is never thrown out.
func TestRoomByNumber(t *testing.T) {
	r := newRoom(2, 1<<40, 1)
	who := ids(4)
	for _, id := range who[:3] {
		r.hold(id, 1) // three were awake when the Runner started
	}
	w := r.ask(who[3], 1)
	r.leave(who[0])
	if w.isIn() {
		t.Error("two are awake and a third came in")
	}
	r.leave(who[1])
	if !w.isIn() {
		t.Error("one is awake and a second did not come in")
	}
}
