package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// watch runs Changes and hands out what comes, once it is subscribed.
func (r *rig) watch(ctx context.Context, p claudehub.PersonID) (<-chan fleet.Change, <-chan error) {
	r.t.Helper()
	c, done := make(chan fleet.Change, 1000), make(chan error, 1)
	go func() { done <- r.Changes(ctx, p, func(ch fleet.Change) error { c <- ch; return nil }) }()
	if first := nextChange(r.t, c); first != (fleet.Change{}) {
		r.t.Fatalf("the first change is %+v", first)
	}
	return c, done
}

func nextChange(t testing.TB, c <-chan fleet.Change) fleet.Change {
	t.Helper()
	select {
	case ch := <-c:
		return ch
	case <-time.After(20 * time.Second):
		t.Fatal("no change came")
		return fleet.Change{}
	}
}

func TestChangesReachWhoMaySee(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(r.ctx)
		mine, mineDone := r.watch(ctx, r.me)
		theirs, theirsDone := r.watch(ctx, r.stranger)
		s := r.create(newSession())
		if got := nextChange(t, mine); got.Session == nil || got.Session.ID != s.ID {
			t.Errorf("got %+v", got)
		}
		p := r.prompt(s.ID, "x")
		got := nextChange(t, mine)
		if got.Session != nil { // the two are published together, the prompt first
			t.Errorf("got %+v", got.Session)
		}
		if got.Prompt == nil || got.Prompt.ID != p.ID || got.Prompt.Text != "x" {
			t.Errorf("got %+v", got)
		}
		if got := nextChange(t, mine); got.Session == nil {
			t.Errorf("got %+v", got)
		}
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		if got := nextChange(t, mine); got.Runner == nil || got.Runner.Link.State != claudehub.LinkUp {
			t.Errorf("got %+v", got)
		}
		check(t, r.AcquireLease(r.ctx, r.theirs, "one", "mac", false))
		if got := nextChange(t, theirs); got.Runner == nil || got.Runner.ID != r.theirs {
			t.Errorf("the stranger got %+v", got)
		}
		cancel()
		if err := errors.Join(<-mineDone, <-theirsDone); err != nil {
			t.Error(err)
		}
		select {
		case got := <-mine:
			t.Errorf("then came %+v", got)
		case got := <-theirs:
			t.Errorf("then came %+v", got)
		default:
		}
	})
}

func TestChangesEndWithThePage(t *testing.T) {
	r := newRig(t, openSQLite(t))
	gone := errors.New("the page is gone")
	if err := r.Changes(r.ctx, r.me, func(fleet.Change) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}

// A page that does not take its changes is told to load everything again; others go on.
func TestSlowPageIsCut(t *testing.T) {
	r := newRig(t, openSQLite(t))
	block, stuck := make(chan struct{}), make(chan struct{}, 1)
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		done <- r.Changes(r.ctx, r.me, func(ch fleet.Change) error {
			if ch == (fleet.Change{}) {
				close(ready)
				return nil
			}
			select {
			case stuck <- struct{}{}:
			default:
			}
			<-block
			return nil
		})
	}()
	<-ready
	r.create(newSession())
	<-stuck
	for i := range fleet.MaxBacklog + 2 {
		data := fmt.Sprintf(`{"owner":%q,"id":"ses_%d"}`, r.me, i)
		check(t, r.bus.Publish(wire.ChangeSubject, "session", []byte(data)))
		if i%100 == 0 {
			check(t, r.bus.Flush(r.ctx))
		}
	}
	check(t, r.bus.Flush(r.ctx))
	quick, _ := r.watch(r.ctx, r.me)
	s := r.create(newSession())
	if got := nextChange(t, quick); got.Session == nil || got.Session.ID != s.ID {
		t.Errorf("the quick page got %+v", got)
	}
	close(block)
	wantCode(t, "the slow page", <-done, claudehub.Unavailable)
}
