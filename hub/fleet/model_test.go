package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestModel makes random sequences of what people, a Runner and fate do (its events doubled, late and in any order; the Hub
// restarted; a day gone by), and checks after each that what was promised holds.
func TestModel(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, r *rig) {
				m := &model{rig: r, rnd: rand.New(rand.NewPCG(seed, 1)), prompts: map[claudehub.PromptID]claudehub.Prompt{}, sent: map[claudehub.EventID]bool{},
					builds: map[claudehub.BuildID]claudehub.Build{}, gone: map[claudehub.SessionID]bool{}}
				for step := range 120 {
					what := m.step()
					m.verify(fmt.Sprintf("step %d, %s", step, what))
				}
			})
		})
	}
}

type model struct {
	*rig
	rnd      *rand.Rand
	sessions []claudehub.SessionID
	prompts  map[claudehub.PromptID]claudehub.Prompt // as last seen
	sent     map[claudehub.EventID]bool
	outbox   []wire.Event    // all that the Runner ever had to say
	points   []wire.Snapshot // what the Runner knew at some time

	environments []claudehub.Environment
	builds       map[claudehub.BuildID]claudehub.Build // as last seen
	gone         map[claudehub.SessionID]bool          // deleted
}

func (m *model) step() string {
	if m.rnd.IntN(3) == 0 {
		return m.stepMachine()
	}
	id := m.anySession()
	switch n := m.rnd.IntN(100); {
	case id == "" || n < 3:
		m.sessions = append(m.sessions, m.create(m.newSession()).ID)
		return "create"
	case n < 20:
		p, err := m.AddPrompt(m.ctx, m.me, id, "text", "")
		m.allow(err, claudehub.Conflict, claudehub.TooMany)
		if err == nil {
			m.prompts[p.ID] = p
		}
		return "prompt"
	case n < 28:
		if p := m.anyPrompt(id); p.ID != "" {
			_, err := m.CancelPrompt(m.ctx, m.me, id, p.ID)
			m.allow(err, claudehub.Conflict)
		}
		return "cancel prompt"
	case n < 45:
		return m.press(id)
	case n < 65:
		m.runnerActs(id)
		return "the Runner acts"
	case n < 85:
		m.runnerReports()
		return "the Runner reports"
	case n < 90:
		o := claudehub.Observed{Phase: claudehub.PhaseAwake, Generation: int64(m.rnd.IntN(5))}
		if m.rnd.IntN(2) == 0 {
			o = claudehub.Observed{Phase: claudehub.PhaseFailed, Generation: int64(m.rnd.IntN(5)), Failure: &claudehub.Failure{Choice: "new_conversation"}}
		}
		m.observe(id, o)
		return "status"
	case n < 94:
		m.restart()
		return "restart"
	case n < 98:
		m.clock.move(time.Duration(m.rnd.IntN(8)) * time.Hour)
		return "time"
	default:
		m.Sweep(m.ctx)
		return "sweep"
	}
}

func (m *model) press(id claudehub.SessionID) string {
	buttons := []struct {
		name string
		do   func(claudehub.SessionID) (claudehub.Session, error)
	}{
		{"wake", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Wake(m.ctx, m.me, id) }},
		{"sleep", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Sleep(m.ctx, m.me, id) }},
		{"archive", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Archive(m.ctx, m.me, id) }},
		{"unarchive", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Unarchive(m.ctx, m.me, id) }},
		{"unarchive", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Unarchive(m.ctx, m.me, id) }},
		{"retry", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Retry(m.ctx, m.me, id) }},
		{"cancel step", func(id claudehub.SessionID) (claudehub.Session, error) { return m.CancelStep(m.ctx, m.me, id) }},
		{"stop", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Stop(m.ctx, m.me, id) }},
		{"delete", func(id claudehub.SessionID) (claudehub.Session, error) { return m.Delete(m.ctx, m.me, id) }},
		{"forward", func(id claudehub.SessionID) (claudehub.Session, error) {
			return m.Forward(m.ctx, m.me, id, claudehub.Forward{Port: 1 + m.rnd.IntN(3), Same: m.rnd.IntN(2) == 0})
		}},
		{"unforward", func(id claudehub.SessionID) (claudehub.Session, error) {
			return m.Unforward(m.ctx, m.me, id, 1+m.rnd.IntN(3))
		}},
		{"new conversation", func(id claudehub.SessionID) (claudehub.Session, error) { return m.NewConversation(m.ctx, m.me, id) }},
	}
	b := buttons[m.rnd.IntN(len(buttons))]
	_, err := b.do(id)
	m.allow(err, claudehub.Conflict)
	return b.name
}

// runnerActs: the Runner does something with a prompt that it was told of, now or at some time before.
func (m *model) runnerActs(id claudehub.SessionID) {
	p := m.anyPrompt(id)
	if p.ID == "" {
		return
	}
	states := []claudehub.PromptState{claudehub.PromptDelivered, claudehub.PromptAccepted, claudehub.PromptDone, claudehub.PromptFailed, claudehub.PromptCancelled}
	m.outbox = append(m.outbox, promptEvent(p, states[m.rnd.IntN(len(states))]))
}

// runnerReports sends a batch of what it has to say, in any order, some of it again.
func (m *model) runnerReports() {
	var batch []wire.Event
	news := false
	for range m.rnd.IntN(4) {
		if len(m.outbox) > 0 {
			e := m.outbox[m.rnd.IntN(len(m.outbox))]
			news = news || !m.sent[e.ID]
			m.sent[e.ID] = true
			batch = append(batch, e)
		}
	}
	before, err := m.Snapshot(m.ctx, m.runner)
	check(m.t, err)
	m.report(batch...)
	after, err := m.Snapshot(m.ctx, m.runner)
	check(m.t, err)
	if !news && before.Seq != after.Seq {
		m.t.Fatalf("events that were told before changed something: number %d after %d", after.Seq, before.Seq)
	}
}

func (m *model) anySession() claudehub.SessionID {
	there := slices.DeleteFunc(slices.Clone(m.sessions), func(id claudehub.SessionID) bool { return m.gone[id] })
	if len(there) == 0 {
		return ""
	}
	return there[m.rnd.IntN(len(there))]
}

func (m *model) anyPrompt(id claudehub.SessionID) claudehub.Prompt {
	all, err := m.Prompts(m.ctx, m.me, id)
	check(m.t, err)
	if len(all) == 0 {
		return claudehub.Prompt{}
	}
	return all[m.rnd.IntN(len(all))]
}

func (m *model) allow(err error, codes ...claudehub.Code) {
	m.t.Helper()
	if err != nil && !slices.Contains(codes, claudehub.CodeOf(err)) {
		m.t.Fatal(err)
	}
}

func (m *model) verify(when string) {
	m.t.Helper()
	open := m.verifyPrompts(when)
	m.verifyBuilds(when)
	snap, err := m.Snapshot(m.ctx, m.runner)
	check(m.t, err)
	m.verifySnapshot(when, snap, open)
	// From any point before, the changes since lead to what is now.
	for range 2 {
		if len(m.points) == 0 {
			break
		}
		m.verifySince(when, m.points[m.rnd.IntN(len(m.points))], snap)
	}
	if n := len(m.points); n > 0 {
		m.verifySince(when, m.points[n-1], snap)
	}
	m.points = append(m.points, snap)
}

// verifyPrompts: none is lost, and each only went where claudehub's rules lead.
func (m *model) verifyPrompts(when string) (open map[claudehub.PromptID]claudehub.Prompt) {
	m.t.Helper()
	open = map[claudehub.PromptID]claudehub.Prompt{}
	found := 0
	for _, id := range slices.Compact(slices.Sorted(slices.Values(m.sessions))) {
		if m.gone[id] {
			continue
		}
		all, err := m.Prompts(m.ctx, m.me, id)
		check(m.t, err)
		if len(all) >= 200 {
			m.t.Fatal("the model outgrew the list; make fewer steps")
		}
		for _, p := range all {
			was, known := m.prompts[p.ID]
			if !known || p.Text != was.Text || p.Session != was.Session || !p.Created.Equal(was.Created) {
				m.t.Fatalf("%s: %+v became %+v", when, was, p)
			}
			if !reachable(was.State, p.State) {
				m.t.Fatalf("%s: a prompt went from %s to %s", when, was.State, p.State)
			}
			found++
			m.prompts[p.ID] = p
			if !p.State.Final() {
				open[p.ID] = p
			}
		}
	}
	if found != len(m.prompts) {
		m.t.Fatalf("%s: %d prompts of %d are there", when, found, len(m.prompts))
	}
	return open
}

var allStates = []claudehub.PromptState{claudehub.PromptQueued, claudehub.PromptDelivered, claudehub.PromptAccepted, claudehub.PromptDone,
	claudehub.PromptExpired, claudehub.PromptCancelled, claudehub.PromptFailed}

// reachable: by steps that Next allows, since one batch may hold several.
func reachable(from, to claudehub.PromptState) bool {
	seen := []claudehub.PromptState{from}
	for i := 0; i < len(seen); i++ {
		for _, s := range allStates {
			if seen[i].Next(s) && !slices.Contains(seen, s) {
				seen = append(seen, s)
			}
		}
	}
	return slices.Contains(seen, to)
}

func (m *model) verifySnapshot(when string, snap wire.Snapshot, open map[claudehub.PromptID]claudehub.Prompt) {
	m.t.Helper()
	var last int64
	told := 0
	for _, d := range snap.Sessions {
		if d.Seq <= last || d.Seq > snap.Seq {
			m.t.Fatalf("%s: number %d after %d, of %d", when, d.Seq, last, snap.Seq)
		}
		last = d.Seq
		for _, p := range d.Prompts {
			told++
			if diff := cmp.Diff(open[p.ID], p); diff != "" {
				m.t.Fatalf("%s: the Runner is told another prompt %s", when, diff)
			}
		}
	}
	if told != len(open) {
		m.t.Fatalf("%s: the Runner is told of %d prompts of %d", when, told, len(open))
	}
	if n := len(m.points); n > 0 {
		before := m.points[n-1]
		before.Sessions = slices.DeleteFunc(slices.Clone(before.Sessions), func(d wire.DesiredSession) bool { return m.gone[d.ID] })
		changed := !cmp.Equal(before.Sessions, snap.Sessions) || !cmp.Equal(before.Machine, snap.Machine)
		if snap.Seq < before.Seq || changed && snap.Seq == before.Seq {
			m.t.Fatalf("%s: number %d after %d", when, snap.Seq, before.Seq)
		}
	}
}

func (m *model) verifySince(when string, from, now wire.Snapshot) {
	m.t.Helper()
	changes, err := m.DesiredSince(m.ctx, m.runner, from.Seq)
	check(m.t, err)
	machine := from.Machine
	if changes.Machine != nil {
		machine = *changes.Machine
	}
	if diff := cmp.Diff(now.Machine, machine); diff != "" {
		m.t.Fatalf("%s: from %d the changes lead to another machine %s", when, from.Seq, diff)
	}
	state := map[claudehub.SessionID]wire.DesiredSession{}
	for _, d := range from.Sessions {
		if !m.gone[d.ID] { // the Runner itself deleted it
			state[d.ID] = d
		}
	}
	last := from.Seq
	for _, d := range changes.Sessions {
		if d.Seq <= last {
			m.t.Fatalf("%s: number %d after %d", when, d.Seq, last)
		}
		last = d.Seq
		state[d.ID] = d
	}
	want := map[claudehub.SessionID]wire.DesiredSession{}
	for _, d := range now.Sessions {
		want[d.ID] = d
	}
	if diff := cmp.Diff(want, state); diff != "" {
		m.t.Fatalf("%s: from %d the changes lead elsewhere %s", when, from.Seq, diff)
	}
}

// A stream that reads while others write sees every number in order, and at the end everything.
func TestStreamMissesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var ids []claudehub.SessionID
		for range 4 {
			ids = append(ids, r.create(newSession()).ID)
		}
		writers := make(chan error, len(ids))
		for i, id := range ids {
			go func() {
				for n := range 15 {
					if _, err := r.AddPrompt(r.ctx, r.me, id, fmt.Sprint(i, n), ""); err != nil {
						writers <- err
						return
					}
				}
				writers <- nil
			}()
		}
		var last int64
		state := map[claudehub.SessionID]wire.DesiredSession{}
		read := func() {
			changes, err := r.DesiredSince(r.ctx, r.runner, last)
			check(t, err)
			for _, d := range changes.Sessions {
				if d.Seq <= last {
					t.Fatalf("number %d after %d", d.Seq, last)
				}
				last, state[d.ID] = d.Seq, d
			}
		}
		for running := len(ids); running > 0; {
			select {
			case err := <-writers:
				check(t, err)
				running--
			default:
				read()
			}
		}
		read()
		for _, id := range ids {
			if n := len(state[id].Prompts); n != 15 {
				t.Errorf("the stream knows %d prompts of 15", n)
			}
		}
	})
}

func TestNumberOfAnotherLog(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.create(newSession())
		_, err := r.DesiredSince(r.ctx, r.runner, 99)
		wantCode(t, "a number that was never given", err, claudehub.Expired)
		_, err = r.DesiredSince(r.ctx, r.runner, -1)
		wantCode(t, "a negative number", err, claudehub.Expired)
		_, err = r.Snapshot(r.ctx, claudehub.NewRunnerID())
		wantCode(t, "no Runner", err, claudehub.NotFound)
	})
}
