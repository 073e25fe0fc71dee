package web

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

func TestRatesCountByKeyAndRecover(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newRates("x", Rate{3, time.Minute}, 10)
	for range 3 {
		if err := r.take("a", now); err != nil {
			t.Fatal(err)
		}
	}
	err := r.take("a", now)
	if claudehub.CodeOf(err) != claudehub.TooMany || !strings.Contains(claudehub.MessageOf(err), "20 seconds") {
		t.Fatalf("the fourth: %v %s", err, claudehub.MessageOf(err))
	}
	h := http.Header{}
	err.(*limited).headers(h) //nolint:errorlint,forcetypeassert // it is what was made
	if h.Get("Retry-After") != "20" || h.Get("RateLimit-Policy") != `"x";q=3;w=60` || h.Get("RateLimit") != `"x";r=0;t=20` {
		t.Errorf("%v", h)
	}
	if err := r.take("b", now); err != nil {
		t.Errorf("another key: %v", err)
	}
	if err := r.take("a", now.Add(19*time.Second)); err == nil {
		t.Error("a second too early")
	}
	if err := r.take("a", now.Add(20*time.Second)); err != nil {
		t.Errorf("after what it said: %v", err)
	}
}

func TestRatesKnowSoManyKeys(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newRates("x", Rate{1, time.Minute}, 100)
	for i := range 100 {
		_ = r.take(strconv.Itoa(i), now)
	}
	_ = r.take("0", now) // refused, and used last
	for i := range 99 {
		_ = r.take("n"+strconv.Itoa(i), now)
	}
	if len(r.keys) != 100 || r.order.Len() != 100 {
		t.Fatalf("%d keys, %d in order", len(r.keys), r.order.Len())
	}
	if r.take("0", now) == nil {
		t.Error("the key that was used last was forgotten")
	}
	if r.take("1", now) != nil {
		t.Error("the oldest key is remembered")
	}
}

func TestTriesCountWhileTheyGoOnAndWhenTheyFail(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newRates("x", Rate{2, time.Minute}, 10)
	one, err := r.try("a", now)
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.try("a", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.try("a", now); err == nil {
		t.Error("a third at the same time")
	}
	one(false)
	two(true)
	three, err := r.try("a", now)
	if err != nil {
		t.Fatalf("one of two failed: %v", err)
	}
	three(true)
	if _, err := r.try("a", now); err == nil {
		t.Error("both failed")
	}
}

func TestDebtIsPaidBackByTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newRates("x", Rate{600, time.Minute}, 10) // ten a second
	r.add("a", 600, now)
	if err := r.debt("a", now); err != nil {
		t.Errorf("all of it: %v", err)
	}
	r.add("a", 1300, now)
	if err := r.debt("a", now.Add(129*time.Second)); err == nil {
		t.Error("it forgot what was used")
	}
	if err := r.debt("a", now.Add(130*time.Second)); err != nil {
		t.Errorf("it was paid back: %v", err)
	}
}

func TestSlots(t *testing.T) {
	s := newSlots("x", 2)
	one, err := s.enter("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.enter("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.enter("a"); claudehub.CodeOf(err) != claudehub.TooMany {
		t.Errorf("a third: %v", err)
	}
	if _, err := s.enter("b"); err != nil {
		t.Errorf("another: %v", err)
	}
	one()
	if _, err := s.enter("a"); err != nil {
		t.Errorf("after one left: %v", err)
	}
}
