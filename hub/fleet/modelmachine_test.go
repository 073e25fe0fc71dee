package fleet_test

import (
	"fmt"
	"slices"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The model's other half: what people and the Runner do with Environments, builds, Variables and the machine.

func (m *model) newSession() fleet.NewSession {
	n := fleet.NewSession{Title: "x", Request: fmt.Sprint("r", m.rnd.IntN(20))}
	if m.rnd.IntN(2) == 0 {
		n.Source.GitURL = repoURL
	}
	if e := m.anyEnvironment(); e.ID != "" && !e.Archived && m.rnd.IntN(2) == 0 {
		n.Environment = &claudehub.EnvironmentRef{ID: e.ID, Version: m.rnd.IntN(e.Version + 1)}
	}
	return n
}

func (m *model) anyEnvironment() claudehub.Environment {
	if len(m.environments) == 0 {
		return claudehub.Environment{}
	}
	e, err := m.Environment(m.ctx, m.me, m.environments[m.rnd.IntN(len(m.environments))].ID)
	check(m.t, err)
	return e
}

func (m *model) stepMachine() string {
	e := m.anyEnvironment()
	switch n := m.rnd.IntN(100); {
	case e.ID == "" || n < 5:
		m.environments = append(m.environments, m.environment(fmt.Sprint("e", len(m.environments)%3))) // some with one hash
		return "environment"
	case n < 25:
		recipe, name := e.Recipe, fmt.Sprint("name ", m.rnd.IntN(3))
		recipe.Setup = fmt.Sprint("echo ", m.rnd.IntN(3))
		_, err := m.UpdateEnvironment(m.ctx, m.me, e.ID, fleet.EnvironmentUpdate{Name: &name, Recipe: &recipe, Base: e.Version - m.rnd.IntN(2)})
		m.allow(err, claudehub.Conflict)
		return "save"
	case n < 30:
		_, err := m.ArchiveEnvironment(m.ctx, m.me, e.ID)
		m.allow(err)
		return "archive environment"
	case n < 35:
		_, err := m.UnarchiveEnvironment(m.ctx, m.me, e.ID)
		m.allow(err)
		return "unarchive environment"
	case n < 45:
		b, err := m.CreateBuild(m.ctx, m.me, fleet.NewBuild{Environment: e.ID, Runner: m.runner, Version: m.rnd.IntN(e.Version + 1), Again: m.rnd.IntN(2) == 0})
		m.allow(err, claudehub.Conflict)
		if err == nil {
			m.builds[b.ID] = b
		}
		return "build"
	case n < 65:
		m.runnerBuilds(e)
		return "the Runner builds"
	case n < 70:
		if b := m.anyBuild(); b.ID != "" {
			_, err := m.CancelBuild(m.ctx, m.me, b.ID)
			m.allow(err, claudehub.Conflict)
		}
		return "cancel build"
	case n < 82:
		m.variable(e)
		return "variable"
	case n < 86:
		_, err := m.Reclaim(m.ctx, m.me, m.runner, []string{[]string{"image", "base", "kept"}[m.rnd.IntN(3)]})
		m.allow(err)
		return "reclaim"
	case n < 93:
		if id := m.anySession(); id != "" {
			ref := claudehub.EnvironmentRef{ID: e.ID}
			if m.rnd.IntN(3) == 0 {
				ref.ID = ""
			}
			_, err := m.UpdateSession(m.ctx, m.me, id, fleet.SessionUpdate{Environment: &ref})
			m.allow(err, claudehub.Conflict)
		}
		return "move"
	default:
		m.runnerDeletes()
		return "the Runner deletes"
	}
}

func (m *model) variable(e claudehub.Environment) {
	name := string(rune('A' + m.rnd.IntN(3)))
	var err error
	switch m.rnd.IntN(4) {
	case 0:
		_, err = m.SetEnvironmentVariable(m.ctx, m.me, e.ID, name, "x", true)
	case 1:
		_, err = m.SetRepoVariable(m.ctx, m.me, repo, name, "x", false)
	case 2:
		err = m.DeleteEnvironmentVariable(m.ctx, m.me, e.ID, name)
	default:
		err = m.DeleteRepoVariable(m.ctx, m.me, repo, name)
	}
	m.allow(err, claudehub.NotFound)
}

func (m *model) anyBuild() claudehub.Build {
	ids := make([]claudehub.BuildID, 0, len(m.builds))
	for id := range m.builds {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return claudehub.Build{}
	}
	slices.Sort(ids)
	return m.builds[ids[m.rnd.IntN(len(ids))]]
}

// runnerBuilds: a report of a build that it was told of, or began, at any stage, perhaps not for the first time.
func (m *model) runnerBuilds(e claudehub.Environment) {
	b := m.anyBuild()
	if b.ID == "" || m.rnd.IntN(4) == 0 {
		b = claudehub.Build{ID: claudehub.NewBuildID(), Environment: e.ID, Version: e.Version, Hash: e.Recipe.Hash()}
	}
	states := []claudehub.BuildState{claudehub.BuildQueued, claudehub.BuildBuilding, claudehub.BuildBuilding, claudehub.BuildReady, claudehub.BuildFailed, claudehub.BuildCancelled}
	o := observed(b, states[m.rnd.IntN(len(states))])
	o.Steps = []claudehub.BuildStep{{Name: "Setup", State: claudehub.StepRunning, Progress: m.rnd.Float64()}}
	gone := m.observeBuild(o)
	if _, known := m.builds[b.ID]; !known && len(gone) == 0 {
		m.builds[b.ID] = claudehub.Build{ID: b.ID, Environment: b.Environment, Version: b.Version, Hash: b.Hash, State: claudehub.BuildQueued}
	} else if known && len(gone) > 0 {
		m.t.Fatalf("a build of the Runner's own is gone: %v", gone)
	}
}

// runnerDeletes: the Runner deletes what shall be, and says so; of another Session that counts for nothing.
func (m *model) runnerDeletes() {
	id := m.anySession()
	if id == "" {
		return
	}
	s, err := m.Session(m.ctx, m.me, id)
	check(m.t, err)
	reply, err := m.ObserveStatus(m.ctx, m.runner, wire.Status{Sessions: []wire.ObservedSession{{ID: id, Observed: claudehub.Observed{Phase: claudehub.PhaseDeleted}}}})
	check(m.t, err)
	if (s.Desired == claudehub.WantDeleted) != (len(reply.Gone) == 1) {
		m.t.Fatalf("%s shall be %s, and %v are gone", id, s.Desired, reply.Gone)
	}
	if len(reply.Gone) == 0 {
		return
	}
	m.gone[id] = true
	for p, prompt := range m.prompts {
		if prompt.Session == id {
			delete(m.prompts, p)
		}
	}
	m.outbox = slices.DeleteFunc(m.outbox, func(e wire.Event) bool { return e.Session == id })
}

// verifyBuilds: none is lost, what it is of never changes, and what is over stays so.
func (m *model) verifyBuilds(when string) {
	m.t.Helper()
	open := map[claudehub.BuildID]bool{}
	for id, was := range m.builds {
		now, err := m.Build(m.ctx, m.me, id)
		check(m.t, err)
		if now.Environment != was.Environment || now.Version != was.Version || now.Hash != was.Hash || was.State.Final() && now.State != was.State {
			m.t.Fatalf("%s: %+v became %+v", when, was, now)
		}
		m.builds[id] = now
		if !now.State.Final() {
			open[id] = now.Cancelling
		}
	}
	machine := m.snapshot().Machine
	if len(machine.Builds) != len(open) {
		m.t.Fatalf("%s: the Runner is told of %d builds of %d", when, len(machine.Builds), len(open))
	}
	for _, b := range machine.Builds {
		if cancelling, is := open[b.ID]; !is || b.Cancel != cancelling {
			m.t.Fatalf("%s: the Runner is told %+v", when, b)
		}
	}
}
