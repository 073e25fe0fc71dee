package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

func (r *rig) link() claudehub.Link {
	r.t.Helper()
	l, err := r.RunnerLink(r.ctx, r.runner)
	check(r.t, err)
	return l
}

func TestOneLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false)) // its next stream
		err := r.AcquireLease(r.ctx, r.runner, "two", "box", false)
		wantCode(t, "a second process", err, claudehub.Conflict)
		if msg := claudehub.MessageOf(err); !strings.Contains(msg, "mac") || !strings.Contains(msg, "1 November 04:00 UTC") {
			t.Errorf("the sentence is %q", msg)
		}
		check(t, r.CheckLease(r.ctx, r.runner, "one"))
		wantCode(t, "who has no lease", r.CheckLease(r.ctx, r.runner, "two"), claudehub.Conflict)
		wantCode(t, "who says no name", r.AcquireLease(r.ctx, r.runner, "", "x", false), claudehub.Invalid)

		one, two := r.listen("one"), r.listen("two")
		check(t, r.AcquireLease(r.ctx, r.runner, "two", "box", true))
		if got := hear(t, one, "superseded"); got != `{"by":"box"}` {
			t.Errorf("superseded is %s", got)
		}
		wantCode(t, "who was taken over", r.CheckLease(r.ctx, r.runner, "one"), claudehub.Conflict)
		wantCode(t, "who was taken over", r.RenewLease(r.ctx, r.runner, "one"), claudehub.Conflict)
		check(t, r.ReleaseLease(r.ctx, r.runner, "one")) // its stream ends: not the new one's link
		if l := r.link(); l.State != claudehub.LinkUp {
			t.Errorf("the link is %v", l)
		}
		check(t, r.RenewLease(r.ctx, r.runner, "two"))
		select {
		case m := <-two:
			t.Errorf("the new one heard %v", m)
		default:
		}
	})
}

func TestStreamEndFreesTheLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		r.clock.move(time.Minute)
		check(t, r.RenewLease(r.ctx, r.runner, "one"))
		r.clock.move(time.Second)
		check(t, r.ReleaseLease(r.ctx, r.runner, "one"))
		if l := r.link(); l.State != claudehub.LinkDown || r.clock.now().Sub(l.Since) > time.Second {
			t.Errorf("the link is %v", l)
		}
		check(t, r.CheckLease(r.ctx, r.runner, "one")) // its outbox need not wait for its next stream
		check(t, r.AcquireLease(r.ctx, r.runner, "two", "box", false))
		wantCode(t, "the old holder", r.CheckLease(r.ctx, r.runner, "one"), claudehub.Conflict)
	})
}

func TestSilence(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		for range 8 {
			r.clock.move(15 * time.Second)
			check(t, r.RenewLease(r.ctx, r.runner, "one"))
			r.Sweep(r.ctx)
		}
		last := r.clock.now()
		for range 3 {
			r.clock.move(13 * time.Second)
			r.Sweep(r.ctx)
			if l := r.link(); l.State != claudehub.LinkUp {
				t.Fatalf("down before 40 s: %v", l)
			}
			wantCode(t, "before 40 s", r.AcquireLease(r.ctx, r.runner, "two", "box", false), claudehub.Conflict)
		}
		r.clock.move(2 * time.Second)
		r.Sweep(r.ctx)
		l := r.link()
		if l.State != claudehub.LinkDown || l.Since.Sub(last).Abs() > time.Second {
			t.Errorf("the link is %v, the last sign was at %v", l, last)
		}
		check(t, r.RenewLease(r.ctx, r.runner, "one")) // a machine that slept
		if l := r.link(); l.State != claudehub.LinkUp {
			t.Errorf("the link is %v", l)
		}
		r.clock.move(41 * time.Second)
		check(t, r.AcquireLease(r.ctx, r.runner, "two", "box", false)) // without a sweep too
	})
}

func TestKilledHubLeavesNoLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		r.clock.move(time.Second)
		r.restart()
		if l := r.link(); l.State != claudehub.LinkDown {
			t.Errorf("the link is %v", l)
		}
		check(t, r.AcquireLease(r.ctx, r.runner, "two", "mac", false))
	})
}

func TestRunners(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		box, token, err := r.AddRunner(r.ctx, r.me, "box")
		check(t, err)
		id, err := r.AuthenticateRunner(r.ctx, token)
		check(t, err)
		if id != box.ID {
			t.Errorf("the token is %s's", id)
		}
		_, err = r.AuthenticateRunner(r.ctx, claudehub.NewToken(claudehub.RunnerToken))
		wantCode(t, "a token nobody made", err, claudehub.Unauthenticated)
		_, _, err = r.AddRunner(r.ctx, r.me, "box")
		wantCode(t, "the same name", err, claudehub.Conflict)
		_, _, err = r.AddRunner(r.ctx, r.me, "a\nb")
		wantCode(t, "two lines", err, claudehub.Invalid)
		_, err = r.RenameRunner(r.ctx, r.me, box.ID, "laptop")
		wantCode(t, "a taken name", err, claudehub.Conflict)
		_, err = r.RenameRunner(r.ctx, r.stranger, box.ID, "mine")
		wantCode(t, "a stranger", err, claudehub.NotFound)
		got, err := r.RenameRunner(r.ctx, r.me, box.ID, "desk")
		check(t, err)
		all, err := r.Runners(r.ctx, r.me)
		check(t, err)
		if got.Name != "desk" || len(all) != 2 || all[0].Name != "desk" || all[1].Name != "laptop" {
			t.Errorf("the Runners are %v", all)
		}
		_, another, err := r.NewRunnerToken(r.ctx, r.me, "desk")
		check(t, err)
		if id, err = r.AuthenticateRunner(r.ctx, another); err != nil || id != box.ID {
			t.Errorf("the new token is %s's: %v", id, err)
		}
		_, err = r.AuthenticateRunner(r.ctx, token)
		wantCode(t, "the old token", err, claudehub.Unauthenticated)
	})
}

// Run ends when told, and tidies at once.
func TestRun(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		cookie := r.signIn()
		r.clock.move(31 * 24 * time.Hour)
		ctx, cancel := context.WithCancel(r.ctx)
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		deadline := time.Now().Add(20 * time.Second)
		for {
			_, _, err := r.st.Read().SignInByHash(r.ctx, cookie.Hash())
			if claudehub.CodeOf(err) == claudehub.NotFound {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the old sign-in is still there")
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A database that fails is an error with a code, never a wrong answer.
func TestClosedStore(t *testing.T) {
	r := newRig(t, openSQLite(t))
	s := r.create(newSession())
	r.st.Close()
	_, err := r.Session(r.ctx, r.me, s.ID)
	var e *claudehub.Error
	if !errors.As(err, &e) || e.Code == claudehub.NotFound {
		t.Errorf("the error is %v", err)
	}
	if _, err := r.Sessions(r.ctx, r.me, false); err == nil {
		t.Error("no Sessions, when it cannot be told")
	}
}
