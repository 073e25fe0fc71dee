package fleet_test

import (
	"fmt"
	"testing"

	"claude-hub/hub/fleet"
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

// BenchmarkSessions is the list of a page: of one's own, of which each tenth is shared with somebody, and of as many that
// others share.
func BenchmarkSessions(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, openSQLite(b))
			r.token(r.me)
			for i := range n {
				s, err := r.CreateSession(r.ctx, []claudehub.PersonID{r.me, r.stranger}[i%2], fleet.NewSession{
					Runner: []claudehub.RunnerID{r.runner, r.theirs}[i%2], Title: "t", Source: claudehub.Source{GitURL: fmt.Sprintf("git@git.example:acme/app%d", i%10)}})
				check(b, err)
				switch {
				case i%20 == 1:
					_, err = r.ShareEveryone(r.ctx, r.stranger, s.ID, true)
				case i%2 == 1:
					_, err = r.Share(r.ctx, r.stranger, s.ID, "local")
				case i%10 == 0:
					_, err = r.Share(r.ctx, r.me, s.ID, "stranger")
				}
				check(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Sessions(r.ctx, r.me, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNote is what the audit log adds to a durable write: a transaction that changes one row, without and with a line.
func BenchmarkNote(b *testing.B) {
	for name, noted := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, openSQLite(b))
			s := r.create(newSession())
			b.ReportAllocs()
			for b.Loop() {
				if err := r.TouchNoted(r.ctx, s.ID, noted); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
