package fleet_test

import (
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// BenchmarkAuthenticate is asked for each request of a page.
func BenchmarkAuthenticate(b *testing.B) {
	r := newRig(b, openSQLite(b))
	cookie := r.signIn()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.Authenticate(r.ctx, cookie); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInput is a keystroke, from the page's side of the Hub to the Runner's.
func BenchmarkInput(b *testing.B) {
	r := newRig(b, openSQLite(b))
	s := r.create(newSession())
	got := make(chan struct{}, 1)
	stop, err := r.Listen(r.ctx, r.runner, "one", func(kind string, _ []byte) {
		if kind == wire.EventInput {
			got <- struct{}{}
		}
	})
	check(b, err)
	defer stop()
	check(b, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
	in := input(s.ID, "x")
	b.ReportAllocs()
	for b.Loop() {
		if err := r.SendInput(r.ctx, r.me, in); err != nil {
			b.Fatal(err)
		}
		<-got
	}
}

// BenchmarkHeartbeat is a status without news: what each idle Runner sends again and again.
func BenchmarkHeartbeat(b *testing.B) {
	r := newRig(b, openSQLite(b))
	status := wire.Status{Machine: claudehub.Machine{Hostname: "mac", CPUs: 8, Load: 1, MemoryTotal: 1 << 34, Doctor: make([]claudehub.Finding, 8)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.ObserveStatus(r.ctx, r.runner, status); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAddPrompt is a decision: one durable write.
func BenchmarkAddPrompt(b *testing.B) {
	r := newRig(b, openSQLite(b))
	s := r.create(newSession())
	b.ReportAllocs()
	for b.Loop() {
		p, err := r.AddPrompt(r.ctx, r.me, s.ID, "x", "")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.CancelPrompt(r.ctx, r.me, s.ID, p.ID); err != nil {
			b.Fatal(err)
		}
	}
}
