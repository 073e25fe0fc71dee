package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func TestAddPrompt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		p, err := r.AddPrompt(r.ctx, r.me, s.ID, "do", "k")
		check(t, err)
		again, err := r.AddPrompt(r.ctx, r.me, s.ID, "do", "k")
		check(t, err)
		if diff := cmp.Diff(p, again); diff != "" {
			t.Error("the same request gave another prompt", diff)
		}
		_, err = r.AddPrompt(r.ctx, r.me, s.ID, "do something else", "k")
		wantCode(t, "the key for another text", err, claudehub.Conflict)
		_, err = r.AddPrompt(r.ctx, r.me, s.ID, " \n", "")
		wantCode(t, "empty", err, claudehub.Invalid)
		_, err = r.AddPrompt(r.ctx, r.me, s.ID, strings.Repeat("x", claudehub.MaxPrompt+1), "")
		wantCode(t, "too large", err, claudehub.TooLarge)
		for i := range claudehub.MaxQueued - 1 {
			r.prompt(s.ID, fmt.Sprint(i))
		}
		_, err = r.AddPrompt(r.ctx, r.me, s.ID, "one too many", "")
		wantCode(t, "one too many", err, claudehub.TooMany)
		_, err = r.AddPrompt(r.ctx, r.me, s.ID, "do", "k")
		check(t, err) // it has its place
		_, err = r.CancelPrompt(r.ctx, r.me, s.ID, p.ID)
		check(t, err)
		r.prompt(s.ID, "there is room")
	})
}

func TestCancelPrompt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		p := r.prompt(s.ID, "x")
		for range 2 {
			got, err := r.CancelPrompt(r.ctx, r.me, s.ID, p.ID)
			check(t, err)
			if got.State != claudehub.PromptCancelled || got.Why == "" {
				t.Errorf("it is %+v", got)
			}
		}
		p = r.prompt(s.ID, "y")
		r.report(promptEvent(p, claudehub.PromptAccepted))
		_, err := r.CancelPrompt(r.ctx, r.me, s.ID, p.ID)
		wantCode(t, "what Claude has", err, claudehub.Conflict)
		_, err = r.CancelPrompt(r.ctx, r.me, s.ID, claudehub.NewPromptID())
		wantCode(t, "none", err, claudehub.NotFound)
	})
}

func TestPromptsExpire(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		other := r.create(newSession())
		old, taken := r.prompt(s.ID, "old"), r.prompt(s.ID, "taken")
		others := r.prompt(other.ID, "old too")
		r.report(promptEvent(taken, claudehub.PromptAccepted))
		r.clock.move(claudehub.PromptLife - time.Minute)
		young := r.prompt(s.ID, "young")
		before, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		heard := r.listen("x")
		r.clock.move(time.Minute)

		// A Runner that comes now must not get it, whatever timer is late.
		snap, err := r.Snapshot(r.ctx, r.runner)
		check(t, err)
		hear(t, heard, fleet.Nudge)
		if snap.Seq <= before.Seq {
			t.Errorf("number %d after %d", snap.Seq, before.Seq)
		}
		for _, d := range snap.Sessions {
			for _, p := range d.Prompts {
				if p.ID == old.ID || p.ID == others.ID {
					t.Errorf("an expired prompt is handed out: %+v", p)
				}
			}
		}
		for p, want := range map[claudehub.PromptID]claudehub.PromptState{old.ID: claudehub.PromptExpired,
			taken.ID: claudehub.PromptAccepted, young.ID: claudehub.PromptQueued} {
			if got := r.promptState(s.ID, p); got != want {
				t.Errorf("a prompt is %s instead of %s", got, want)
			}
		}
		// It reached Claude after all, while the Runner was away.
		r.report(promptEvent(old, claudehub.PromptDone))
		if got := r.promptState(s.ID, old.ID); got != claudehub.PromptDone {
			t.Errorf("it is %s", got)
		}
	})
}

func TestEventsCountOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		p := r.prompt(s.ID, "x")
		failed, accepted := promptEvent(p, claudehub.PromptFailed), promptEvent(p, claudehub.PromptAccepted)
		failed.Text = "it could not be typed"
		r.report(failed)
		all, err := r.Prompts(r.ctx, r.me, s.ID)
		check(t, err)
		if all[0].State != claudehub.PromptFailed || all[0].Why != failed.Text {
			t.Errorf("it is %+v", all[0])
		}
		r.report(accepted)
		r.report(failed, failed) // told again, later than its successor
		if got := r.promptState(s.ID, p.ID); got != claudehub.PromptAccepted {
			t.Errorf("a repeated event took a prompt back to %s", got)
		}
		r.report(promptEvent(p, claudehub.PromptDelivered), promptEvent(p, claudehub.PromptQueued))
		if got := r.promptState(s.ID, p.ID); got != claudehub.PromptAccepted {
			t.Errorf("it went back to %s", got)
		}

		at := r.clock.now()
		start := wire.Event{ID: claudehub.NewEventID(), Session: s.ID, Kind: wire.ReportTurn, At: at}
		end := wire.Event{ID: claudehub.NewEventID(), Session: s.ID, Kind: wire.ReportTurn, At: at.Add(time.Second), Ended: true, Text: "Done.\x00"}
		note := wire.Event{ID: claudehub.NewEventID(), Session: s.ID, Kind: wire.ReportNotice, At: at.Add(time.Minute), Text: "The transcript's tail was dropped."}
		r.report(end, note, start, end, wire.Event{ID: claudehub.NewEventID(), Session: s.ID, Kind: "new kind"},
			wire.Event{ID: "nonsense", Session: s.ID, Kind: wire.ReportNotice}, wire.Event{ID: claudehub.NewEventID(), Session: "x.y", Kind: wire.ReportNotice})
		history, err := r.History(r.ctx, r.me, s.ID)
		check(t, err)
		want := []fleet.Entry{{At: at, Kind: "turn_started"}, {At: at.Add(time.Second), Kind: "turn_ended", Text: "Done.\uFFFD"},
			{At: note.At, Kind: "notice", Text: note.Text}}
		if diff := cmp.Diff(want, history); diff != "" {
			t.Error(diff)
		}
		_, err = r.StoreEvents(r.ctx, r.runner, wire.Events{Events: make([]wire.Event, wire.MaxEvents+1)})
		wantCode(t, "too many at once", err, claudehub.TooLarge)
	})
}

func TestStatusStoresOnlyNews(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		newfoundland := time.Local
		o := claudehub.Observed{Phase: claudehub.PhasePreparing, Generation: 1, Since: r.clock.now().In(newfoundland),
			Step:        &claudehub.Step{Name: "Cloning", Progress: 0.5, Since: r.clock.now().In(newfoundland)},
			SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: r.clock.now()}}
		m := claudehub.Machine{Hostname: "mac", CPUs: 8, Load: 1, MemoryTotal: 1 << 34, MemoryFree: 1 << 33}
		send := func(m claudehub.Machine, o claudehub.Observed) {
			t.Helper()
			reply, err := r.ObserveStatus(r.ctx, r.runner, wire.Status{Machine: m, Sessions: []wire.ObservedSession{{ID: s.ID, Observed: o}}})
			check(t, err)
			if reply.Gone == nil {
				t.Error("gone is null in JSON")
			}
		}
		send(m, o)
		stored, err := r.Session(r.ctx, r.me, s.ID)
		check(t, err)
		if stored.Observed.Step == nil || stored.Observed.Step.Name != "Cloning" || !stored.Updated.After(s.Updated) {
			t.Errorf("it is %+v", stored)
		}
		runner := func() claudehub.Runner {
			all, err := r.Runners(r.ctx, r.me)
			check(t, err)
			return all[0]
		}
		first := runner()
		if first.Machine.Hostname != "mac" || first.Machine.Doctor == nil {
			t.Errorf("it is %+v", first.Machine)
		}

		r.clock.move(10 * time.Second)
		m.Load, m.MemoryFree = 1.1, m.MemoryFree-1<<20
		send(m, o)
		if diff := cmp.Diff(first, runner()); diff != "" {
			t.Error("a heartbeat was stored", diff)
		}
		again, err := r.Session(r.ctx, r.me, s.ID)
		check(t, err)
		if diff := cmp.Diff(stored, again); diff != "" {
			t.Error("the same observation was stored", diff)
		}
		m.SetupToken = true
		send(m, o)
		if !runner().Machine.SetupToken {
			t.Error("news of the machine was not stored")
		}
		r.clock.move(time.Minute)
		send(m, o)
		if got := runner().Machine; got.Load != 1.1 || r.clock.now().Sub(got.Reported) > time.Second {
			t.Errorf("after a minute it is %+v", got)
		}
		o.Phase = "hovering" // of a newer Runner
		send(m, o)
		if got, err := r.Session(r.ctx, r.me, s.ID); err != nil || got.Observed.Phase != claudehub.PhasePreparing {
			t.Errorf("the phase is %q, %v", got.Observed.Phase, err)
		}
	})
}

func input(id claudehub.SessionID, data string) wire.Input {
	return wire.Input{Session: id, Terminal: "t-1", Life: claudehub.NewNonce(), N: 1, Kind: wire.InputKeys, Data: []byte(data)}
}

func TestInput(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		r.clock.move(5 * time.Minute)
		err := r.SendInput(r.ctx, r.me, input(s.ID, "ls"))
		wantCode(t, "nobody there", err, claudehub.Unavailable)
		if msg := claudehub.MessageOf(err); !strings.Contains(msg, "for 5 minutes") {
			t.Errorf("the sentence is %q", msg)
		}
		heard := r.listen("one")
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		in := input(s.ID, "ls")
		in.Author = r.stranger // what a client claims does not count
		check(t, r.SendInput(r.ctx, r.me, in))
		var got wire.Input
		check(t, json.Unmarshal([]byte(hear(t, heard, wire.EventInput)), &got))
		in.Author = r.me
		if diff := cmp.Diff(in, got); diff != "" {
			t.Error(diff)
		}
		check(t, r.SendResize(r.ctx, r.me, wire.Resize{Session: s.ID, Cols: 80, Rows: 24}))
		var size wire.Resize
		check(t, json.Unmarshal([]byte(hear(t, heard, wire.EventResize)), &size))
		if size != (wire.Resize{Session: s.ID, Author: r.me, Cols: 80, Rows: 24}) {
			t.Errorf("the size is %+v", size)
		}
		wantCode(t, "zero size", r.SendResize(r.ctx, r.me, wire.Resize{Session: s.ID}), claudehub.Invalid)

		// The largest paste fits in one message.
		in.Kind, in.Data = wire.InputPaste, make([]byte, claudehub.MaxPaste)
		check(t, r.SendInput(r.ctx, r.me, in))
		hear(t, heard, wire.EventInput)
		in.Data = append(in.Data, 'x')
		wantCode(t, "a byte more", r.SendInput(r.ctx, r.me, in), claudehub.TooLarge)
		for what, change := range map[string]func(*wire.Input){
			"kind":     func(i *wire.Input) { i.Kind = "mouse" },
			"terminal": func(i *wire.Input) { i.Terminal = "a.b" },
			"number":   func(i *wire.Input) { i.N = 0 },
			"life":     func(i *wire.Input) { i.Life = "x" },
			"nothing":  func(i *wire.Input) { i.Data = nil },
		} {
			bad := input(s.ID, "x")
			change(&bad)
			wantCode(t, what, r.SendInput(r.ctx, r.me, bad), claudehub.Invalid)
		}
		r.clock.move(41 * time.Second) // silent, and not yet swept
		wantCode(t, "silent", r.SendInput(r.ctx, r.me, input(s.ID, "x")), claudehub.Unavailable)
	})
}
