package fleet_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func (r *rig) failedBuild(name string) claudehub.Build {
	r.t.Helper()
	b := r.build(r.environment(name))
	o := observed(b, claudehub.BuildFailed)
	o.Kept, o.Failure = r.clock.now().Add(claudehub.KeepFailed), &claudehub.Failure{Step: "Setup", Reason: "it ended with 1"}
	r.observeBuild(o)
	return r.mustBuild(b.ID)
}

func TestALookInside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.failedBuild("tools")
		s, err := r.Look(r.ctx, r.me, b.ID)
		check(t, err)
		if s.Kind != claudehub.KindLook || s.Build != b.ID || s.Desired != claudehub.WantAwake || !strings.Contains(s.Title, "tools") {
			t.Errorf("it is %+v", s)
		}
		d := r.desiredOf(s.ID)
		if d.Kind != claudehub.KindLook || d.Build != b.ID || d.Environment == nil {
			t.Errorf("the Runner hears %+v", d)
		}
		again, err := r.Look(r.ctx, r.me, b.ID)
		check(t, err)
		if again.ID != s.ID {
			t.Error("there are two looks at one Sandbox")
		}
		prompt, model := "hello", "opus"
		for what, err := range map[string]error{
			"sleep":    second(r.Sleep(r.ctx, r.me, s.ID)),
			"cancel":   second(r.CancelStep(r.ctx, r.me, s.ID)),
			"stop":     second(r.Stop(r.ctx, r.me, s.ID)),
			"prompt":   second(r.AddPrompt(r.ctx, r.me, s.ID, prompt, "")),
			"model":    second(r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Model: &model})),
			"move":     second(r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Environment: &claudehub.EnvironmentRef{}})),
			"delete":   second(r.Delete(r.ctx, r.me, s.ID)),
			"new talk": second(r.NewConversation(r.ctx, r.me, s.ID)),
		} {
			wantCode(t, what, err, claudehub.Conflict)
		}
		// A port of what is left can be seen too, and its name can be changed.
		if _, err := r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 8080}); err != nil {
			t.Error(err)
		}
		before := r.snapshot().Seq
		if _, err = r.Archive(r.ctx, r.me, s.ID); err != nil {
			t.Fatal(err)
		}
		changes, err := r.DesiredSince(r.ctx, r.runner, before)
		check(t, err)
		if len(changes.Sessions) != 1 || changes.Sessions[0].Desired != claudehub.WantArchived {
			t.Error("the Runner does not hear that it is over")
		}
		_, err = r.Unarchive(r.ctx, r.me, s.ID)
		wantCode(t, "back from the archive", err, claudehub.Conflict)
		_, err = r.Look(r.ctx, r.me, b.ID)
		wantCode(t, "another look", err, claudehub.Conflict)
	})
}

func TestNothingToLookInto(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		open := r.build(r.environment("open"))
		_, err := r.Look(r.ctx, r.me, open.ID)
		wantCode(t, "a build that runs", err, claudehub.Conflict)
		late := r.failedBuild("late")
		r.clock.move(claudehub.KeepFailed)
		_, err = r.Look(r.ctx, r.me, late.ID)
		wantCode(t, "a Sandbox that is gone by now", err, claudehub.Conflict)
		gone := r.failedBuild("gone")
		r.observeBuild(observed(gone, claudehub.BuildFailed)) // no Kept: the Runner removed it
		_, err = r.Look(r.ctx, r.me, gone.ID)
		wantCode(t, "a Sandbox that was removed", err, claudehub.Conflict)
		if b := r.mustBuild(gone.ID); b.Failure == nil {
			t.Error("why it failed is forgotten")
		}
	})
}

func TestLookTogether(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.failedBuild("tools")
		ids := make([]claudehub.SessionID, 4)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				s, err := r.Look(r.ctx, r.me, b.ID)
				if err != nil {
					t.Error(err)
				}
				ids[i] = s.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("several looks: %v", ids)
			}
		}
	})
}

func TestDeleteASession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		_, err := r.Delete(r.ctx, r.me, s.ID)
		wantCode(t, "one that is not archived", err, claudehub.Conflict)
		if !strings.Contains(claudehub.MessageOf(err), "Archive it first") {
			t.Errorf("the sentence is %q", claudehub.MessageOf(err))
		}
		_, err = r.Delete(r.ctx, r.stranger, s.ID)
		wantCode(t, "another's", err, claudehub.NotFound)
		// A Runner cannot delete what nobody wanted deleted.
		r.observe(s.ID, claudehub.Observed{Phase: claudehub.PhaseDeleted})
		if got, err := r.Session(r.ctx, r.me, s.ID); err != nil || got.Observed.Phase == claudehub.PhaseDeleted {
			t.Errorf("it is %+v, %v", got.Observed, err)
		}
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		got, err := r.Delete(r.ctx, r.me, s.ID)
		check(t, err)
		if again, err := r.Delete(r.ctx, r.me, s.ID); err != nil || again.Generation != got.Generation {
			t.Errorf("pressed twice: %+v, %v", again, err)
		}
		name := "new"
		for what, err := range map[string]error{
			"wake":      second(r.Wake(r.ctx, r.me, s.ID)),
			"archive":   second(r.Archive(r.ctx, r.me, s.ID)),
			"unarchive": second(r.Unarchive(r.ctx, r.me, s.ID)),
			"prompt":    second(r.AddPrompt(r.ctx, r.me, s.ID, "x", "")),
			"rename":    second(r.UpdateSession(r.ctx, r.me, s.ID, fleet.SessionUpdate{Title: &name})),
			"forward":   second(r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 1})),
		} {
			wantCode(t, what, err, claudehub.Conflict)
		}
		// The Runner is away: it stays, and shows so.
		listed, err := r.Sessions(r.ctx, r.me, true)
		check(t, err)
		if len(listed) != 1 || listed[0].Desired != claudehub.WantDeleted || r.desiredOf(s.ID).Desired != claudehub.WantDeleted {
			t.Errorf("on its way it is listed as %+v", listed)
		}
		r.observe(s.ID, claudehub.Observed{Phase: claudehub.PhaseFailed, Generation: got.Generation, Failure: &claudehub.Failure{Reason: "the disk"}})
		if retried, err := r.Retry(r.ctx, r.me, s.ID); err != nil || retried.Desired != claudehub.WantDeleted {
			t.Errorf("tried again: %+v, %v", retried, err)
		}
		r.finishDelete(s.ID)
	})
}

// finishDelete: the Runner comes back, deletes, and says what that gave.
func (r *rig) finishDelete(id claudehub.SessionID) {
	t := r.t
	told := make(chan claudehub.Session, 100)
	ready := make(chan struct{})
	ctx := r.ctx
	go func() {
		_ = r.Changes(ctx, r.me, func(c fleet.Change) error {
			if c == (fleet.Change{}) {
				close(ready)
			}
			if c.Session != nil {
				told <- *c.Session
			}
			return nil
		})
	}()
	<-ready
	deleted := wire.Status{Sessions: []wire.ObservedSession{{ID: id, Observed: claudehub.Observed{Phase: claudehub.PhaseDeleted, Figures: claudehub.Figures{Freed: 1 << 30}}}}}
	reply, err := r.ObserveStatus(r.ctx, r.runner, deleted)
	check(t, err)
	if len(reply.Gone) != 1 || reply.Gone[0] != id {
		t.Errorf("the Runner is not told to forget it: %v", reply.Gone)
	}
	select {
	case s := <-told:
		if s.ID != id || s.Observed.Phase != claudehub.PhaseDeleted || s.Observed.Figures.Freed != 1<<30 {
			t.Errorf("pages are told %+v", s)
		}
	case <-time.After(20 * time.Second):
		t.Error("pages are not told")
	}
	_, err = r.Session(r.ctx, r.me, id)
	wantCode(t, "what is deleted", err, claudehub.NotFound)
	for _, archived := range []bool{true, false} {
		if all, err := r.Sessions(r.ctx, r.me, archived); err != nil || len(all) != 0 {
			t.Errorf("it is listed: %v, %v", all, err)
		}
	}
	if d := r.snapshot().Sessions; len(d) != 0 {
		t.Errorf("the Runner is told of it: %+v", d)
	}
	reply, err = r.ObserveStatus(r.ctx, r.runner, deleted)
	check(t, err)
	if len(reply.Gone) != 1 {
		t.Error("told again, it is not gone")
	}
	r.clock.move(2 * time.Hour)
	r.Tidy(r.ctx)
	_, err = r.st.Read().DeletedSession(r.ctx, id)
	wantCode(t, "its row", err, claudehub.NotFound)
}

func TestForwards(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		before := r.snapshot().Seq
		got, err := r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 3000})
		check(t, err)
		if len(got.Forwards) != 1 || got.Generation != s.Generation {
			t.Errorf("it is %+v", got)
		}
		changes, err := r.DesiredSince(r.ctx, r.runner, before)
		check(t, err)
		if len(changes.Sessions) != 1 || len(changes.Sessions[0].Forwards) != 1 {
			t.Errorf("the Runner hears %+v", changes.Sessions)
		}
		_, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 3000})
		check(t, err)
		if r.snapshot().Seq != changes.Sessions[0].Seq {
			t.Error("asked for twice it counts twice")
		}
		got, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 3000, Same: true})
		check(t, err)
		if len(got.Forwards) != 1 || !got.Forwards[0].Same {
			t.Errorf("it is %+v", got.Forwards)
		}
		// A Session that sleeps keeps what is asked for.
		_, err = r.Sleep(r.ctx, r.me, s.ID)
		check(t, err)
		for port := 1; port < claudehub.MaxForwards; port++ {
			_, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: port})
			check(t, err)
		}
		_, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 65535})
		wantCode(t, "one too many", err, claudehub.TooMany)
		for _, port := range []int{0, -1, 65536} {
			_, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: port})
			wantCode(t, "no port", err, claudehub.Invalid)
		}
		_, err = r.Forward(r.ctx, r.stranger, s.ID, claudehub.Forward{Port: 80})
		wantCode(t, "another's Session", err, claudehub.NotFound)
		_, err = r.Unforward(r.ctx, r.stranger, s.ID, 3000)
		wantCode(t, "another's Session", err, claudehub.NotFound)
		for range 2 {
			got, err = r.Unforward(r.ctx, r.me, s.ID, 3000)
			check(t, err)
		}
		if len(got.Forwards) != claudehub.MaxForwards-1 {
			t.Errorf("%d are left", len(got.Forwards))
		}
		r.restart()
		if d := r.desiredOf(s.ID); len(d.Forwards) != claudehub.MaxForwards-1 {
			t.Errorf("after a restart %d are left", len(d.Forwards))
		}
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Forward(r.ctx, r.me, s.ID, claudehub.Forward{Port: 3000})
		wantCode(t, "in the archive", err, claudehub.Conflict)
	})
}

func TestReclaim(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		before := r.snapshot()
		if before.Machine.Reclaim != 0 || before.Machine.What == nil {
			t.Errorf("at first %+v", before.Machine)
		}
		got, err := r.Reclaim(r.ctx, r.me, r.runner, []string{"kept", "image", "kept"})
		check(t, err)
		changes, err := r.DesiredSince(r.ctx, r.runner, before.Seq)
		check(t, err)
		m := changes.Machine
		if got.Reclaim != 1 || m == nil || m.Reclaim != 1 || strings.Join(m.What, " ") != "image kept" {
			t.Fatalf("%+v and %+v", got.Reclaim, m)
		}
		// What is not done yet stays asked for.
		_, err = r.Reclaim(r.ctx, r.me, r.runner, []string{"base"})
		check(t, err)
		if m := r.snapshot().Machine; m.Reclaim != 2 || strings.Join(m.What, " ") != "base image kept" {
			t.Errorf("%+v", m)
		}
		// The Runner has done more than the database knows, which is from a backup.
		_, err = r.ObserveStatus(r.ctx, r.runner, wire.Status{Machine: claudehub.Machine{Storage: claudehub.Storage{Reclaimed: claudehub.Reclaimed{Request: 9, Freed: 5}}}})
		check(t, err)
		got, err = r.Reclaim(r.ctx, r.me, r.runner, []string{"unowned"})
		check(t, err)
		if m := r.snapshot().Machine; got.Reclaim != 10 || m.Reclaim != 10 || strings.Join(m.What, " ") != "unowned" {
			t.Errorf("%+v", m)
		}
		for _, what := range [][]string{nil, {}, {"everything"}, {"image", ""}} {
			_, err := r.Reclaim(r.ctx, r.me, r.runner, what)
			wantCode(t, strings.Join(what, " "), err, claudehub.Invalid)
		}
		_, err = r.Reclaim(r.ctx, r.me, r.theirs, []string{"image"})
		wantCode(t, "another's Runner", err, claudehub.NotFound)
	})
}
