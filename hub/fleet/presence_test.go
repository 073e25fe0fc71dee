package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"claude-hub/hub/bus"
	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// otherHub is a second Hub on the rig's database, with a bus between the two.
func otherHub(t *testing.T, r *rig) *fleet.Fleet {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, MaxPayload: bus.MaxPayload})
	check(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the message bus is not ready")
	}
	log := slog.New(slog.NewTextHandler(r.log, nil))
	hub := func() *fleet.Fleet {
		b, err := bus.Start(t.Context(), bus.Options{URL: srv.ClientURL()})
		check(t, err)
		t.Cleanup(b.Close)
		r.bus = b
		return fleet.New(r.st, b, log, fleet.Options{Now: r.clock.now, Secrets: r.keys, Sighter: r.far})
	}
	two := hub()
	r.Fleet = hub()
	return two
}

// runs runs a Hub until the returned function is called.
func runs(t *testing.T, f *fleet.Fleet) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func logins(all []claudehub.Face) string {
	out := ""
	for _, f := range all {
		out += f.Login + " "
	}
	return out
}

// wantWatchers waits until that is who watches.
func wantWatchers(t *testing.T, f *fleet.Fleet, id claudehub.SessionID, want string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		got := logins(f.Watchers(t.Context(), id))
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q watch instead of %q", got, want)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (r *rig) face(p claudehub.PersonID, login string) claudehub.Face {
	return claudehub.Face{ID: p, Login: login}
}

func TestPresence(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s, other := r.create(newSession()), r.create(newSession())
		r.share(s.ID, "stranger")
		changed := make(chan claudehub.SessionID, 100)
		stop := r.OnPresence(func(id claudehub.SessionID) { changed <- id })
		me, them := r.face(r.me, "local"), r.face(r.stranger, "stranger")
		leaveOne, leaveTwo := r.Enter(r.ctx, them, s.ID), r.Enter(r.ctx, them, s.ID)
		leaveMine := r.Enter(r.ctx, me, s.ID)
		wantWatchers(t, r.Fleet, s.ID, "local stranger ")
		if got := r.Watchers(r.ctx, other.ID); got == nil || len(got) != 0 {
			t.Errorf("%v", got)
		}
		leaveOne()
		leaveOne() // twice is once
		wantWatchers(t, r.Fleet, s.ID, "local stranger ")
		leaveTwo()
		leaveMine()
		wantWatchers(t, r.Fleet, s.ID, "")
		if len(changed) != 4 {
			t.Errorf("it was told %d times", len(changed))
		}
		stop()
		r.Enter(r.ctx, them, claudehub.NewSessionID())() // of none
		r.Enter(r.ctx, them, s.ID)()
		if len(changed) != 4 {
			t.Error("it was told after the end")
		}
		// A Participant's terminal is written down once an hour; the Creator's is not.
		attaches := func() int { return len(r.audit(fleet.AuditFilter{Action: "session.attach", Target: string(s.ID)})) }
		if n := attaches(); n != 1 {
			t.Errorf("%d lines", n)
		}
		r.clock.move(61 * time.Minute)
		r.Enter(r.ctx, them, s.ID)()
		r.Enter(r.ctx, them, s.ID)()
		if n := attaches(); n != 2 {
			t.Errorf("%d lines after an hour", n)
		}
	})
}

// Who watches at one Hub is seen at the other; a Hub that dies without a word is forgotten after a minute.
func TestPresenceOfSeveralHubs(t *testing.T) {
	r := newRig(t, openSQLite(t))
	two := otherHub(t, r)
	one := r.Fleet
	s := r.create(newSession())
	r.share(s.ID, "stranger")
	me, them := r.face(r.me, "local"), r.face(r.stranger, "stranger")

	leaveEarly := two.Enter(r.ctx, them, s.ID) // before the first Hub is there
	stopTwo := runs(t, two)
	stopOne := runs(t, one)
	wantWatchers(t, one, s.ID, "stranger ") // by its hello
	leave := one.Enter(r.ctx, me, s.ID)
	wantWatchers(t, two, s.ID, "local stranger ")
	also := one.Enter(r.ctx, them, s.ID) // the same person at both
	wantWatchers(t, two, s.ID, "local stranger ")
	leaveEarly()
	wantWatchers(t, two, s.ID, "local stranger ")
	also()
	wantWatchers(t, two, s.ID, "local ")
	leave()
	wantWatchers(t, two, s.ID, "")

	// A page at one Hub hears of who comes at the other.
	ctx, cancel := context.WithCancel(r.ctx)
	c, done := r.watch(ctx, r.me)
	leave = two.Enter(r.ctx, them, s.ID)
	got := nextChange(t, c)
	if got.Presence == nil || got.Presence.Session != s.ID || logins(got.Presence.Watchers) != "stranger " {
		t.Errorf("%+v", got)
	}
	cancel()
	check(t, <-done)

	// Hub two ends: it says so.
	stopTwo()
	wantWatchers(t, one, s.ID, "")
	leave()

	// Hub two is back, and is killed: it goes silent.
	stopTwo = runs(t, two)
	leave = two.Enter(r.ctx, them, s.ID)
	wantWatchers(t, one, s.ID, "stranger ")
	two.Mute()
	r.clock.move(50 * time.Second)
	one.Sweep(r.ctx)
	wantWatchers(t, one, s.ID, "stranger ")
	r.clock.move(11 * time.Second)
	told := make(chan claudehub.SessionID, 10)
	defer one.OnPresence(func(id claudehub.SessionID) { told <- id })()
	one.Sweep(r.ctx)
	wantWatchers(t, one, s.ID, "")
	if len(told) != 1 {
		t.Errorf("it was told %d times", len(told))
	}
	leave()
	stopTwo()
	stopOne()
}

// Many come and go at once, and in the end each Hub knows what is so.
func TestPresenceSettles(t *testing.T) {
	r := newRig(t, openSQLite(t))
	two := otherHub(t, r)
	one := r.Fleet
	s := r.create(newSession())
	defer runs(t, two)()
	defer runs(t, one)()
	stay := one.Enter(r.ctx, r.face(r.me, "local"), s.ID)
	wantWatchers(t, two, s.ID, "local ")
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			face := claudehub.Face{ID: claudehub.PersonID(fmt.Sprint("per_", i%2)), Login: fmt.Sprint("p", i%2)}
			for range 30 {
				one.Present(r.me, s.ID, face, 1)
				one.Present(r.me, s.ID, face, -1)
			}
			if i < 2 {
				one.Present(r.me, s.ID, face, 1)
			}
		}()
	}
	for range 8 {
		<-done
	}
	wantWatchers(t, one, s.ID, "local p0 p1 ")
	wantWatchers(t, two, s.ID, "local p0 p1 ")
	stay()
	wantWatchers(t, two, s.ID, "p0 p1 ")
}
