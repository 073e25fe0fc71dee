package builder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// The steps of a build, in a person's words.
const (
	stepBase = iota
	stepTools
	stepSetup
	stepSave
	stepSmoke
)

var stepNames = []string{"Base image", "Tools: tmux, git, gh, certificates", "Setup script", "Save image", "Smoke test"}

// cachedSteps are those of a build that there was no need for.
func cachedSteps() []claudehub.BuildStep {
	var steps []claudehub.BuildStep
	for _, name := range stepNames {
		steps = append(steps, claudehub.BuildStep{Name: name, State: claudehub.StepCached, Progress: 1})
	}
	return steps
}

// Deadlines of what is done to a Sandbox. What must be cleared away has its own, whatever became of the build.
const (
	startLimit = 5 * time.Minute
	execLimit  = time.Minute
	clearLimit = 2 * time.Minute
	stopGrace  = 3 * time.Second
)

// within bounds what is asked of a Backend.
func (b *Builder) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(float64(d)*b.o.Patience), errNoAnswer)
}

// build runs one job to its end.
func (b *Builder) build(run context.Context, j *job) {
	ctx, end := context.WithCancelCause(run)
	defer end(nil)
	j.begin(end)
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
	}
	img, err := b.try(ctx, j)
	if err != nil && run.Err() != nil {
		// The Runner stops: nothing is wrong with the build, and it begins again with the next Runner.
		b.abandon(j)
		b.finish(j, "", errStopping())
		return
	}
	b.conclude(ctx, j, img, err)
}

// try makes the Image.
func (b *Builder) try(ctx context.Context, j *job) (sandbox.Image, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	b.using.RLock()
	defer b.using.RUnlock()
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.Limit, errTooLong)
	defer cancel()
	if err := check(j.Recipe); err != nil {
		return "", err
	}
	log, err := newBuildLog(b.logPath(j.ID))
	if err != nil {
		return "", err
	}
	j.log = log
	defer log.close()
	if err := b.note(j); err != nil {
		return "", err
	}
	j.change(func(o *wire.ObservedBuild) { o.State = claudehub.BuildBuilding })
	m := &making{b: b, j: j, log: log}
	img, err := m.run(ctx)
	if err != nil {
		err = m.end(ctx, err)
	}
	m.clear(context.WithoutCancel(ctx), err)
	return img, err
}

// end says in the log why the build ended, and returns that: a *trouble, or what it was cancelled with. After a Runner's end
// the log goes on, and says so then.
func (m *making) end(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	t := m.b.explain(cause, m.j, err)
	switch {
	case cause == nil, errors.Is(cause, errTooLong):
		m.log.line(strings.TrimSpace("!! " + t.Reason + " " + t.Fix))
		return t
	case errors.Is(cause, errCancelled):
		m.log.line("!! The build was cancelled.")
	}
	return cause
}

// check refuses a recipe that cannot be built anywhere, or not on this machine.
func check(r claudehub.Recipe) error {
	if err := r.Check(); err != nil {
		return err
	}
	if has, err := mem.VirtualMemory(); err == nil && r.Memory > int64(has.Total) {
		return claudehub.Errorf(claudehub.Invalid, "The Environment asks for %s of memory, and this Runner's machine has %s. Give it less, or use a larger machine.",
			size(r.Memory), size(int64(has.Total)))
	}
	return nil
}

// note writes down that a build runs, so that it is found when this Runner dies.
func (b *Builder) note(j *job) error {
	var gone []claudehub.BuildID
	err := b.state.change(func(all *records) {
		for _, o := range j.views() {
			o.State = claudehub.BuildBuilding
			all.Builds[o.ID] = buildRecord{Observed: o, Log: j.ID, Began: b.o.Now()}
		}
		gone = all.forgetOld()
	})
	b.removeLogs(gone)
	return err
}

// conclude tells everyone how it ended, and writes it down.
func (b *Builder) conclude(ctx context.Context, j *job, img sandbox.Image, err error) {
	j.close()
	var failed *Failed
	if err != nil {
		failed = b.failed(ctx, j, err)
	}
	state := claudehub.BuildReady
	switch {
	case failed != nil && failed.Cancelled:
		state = claudehub.BuildCancelled
	case failed != nil:
		state = claudehub.BuildFailed
	}
	j.change(func(o *wire.ObservedBuild) {
		o.State = state
		if failed != nil {
			o.Line = failed.Line
			if !failed.Cancelled {
				o.Failure = &failed.Failure
			}
		}
	})
	noted := b.state.change(func(all *records) {
		for _, o := range j.views() {
			r := all.Builds[o.ID]
			r.Observed, r.Log = o, j.ID
			if r.Began.IsZero() {
				r.Began = b.o.Now()
			}
			all.Builds[o.ID] = r
		}
	})
	if noted != nil {
		b.o.Log.Error("the end of a build could not be written down", "build", j.ID, "error", noted)
	}
	if failed != nil {
		b.o.Log.Info("a build failed", "build", j.ID, "step", failed.Failure.Step, "reason", failed.Failure.Reason)
		b.finish(j, "", failed)
		return
	}
	b.finish(j, img, nil)
}

// failed makes the answer of an error. The step it came in is the one that runs.
func (b *Builder) failed(ctx context.Context, j *job, err error) *Failed {
	f := &Failed{Build: j.ID, cause: err}
	if err == errCancelled { //nolint:errorlint // a cause is what it was set to
		f.Cancelled = true
		f.Failure.Reason, f.Failure.Fix = "The build was cancelled.", "Build again when you want it."
	} else {
		t := b.explain(context.Cause(ctx), j, err)
		f.Failure, f.Line, f.cause = t.Failure, t.line, t.cause
	}
	now := b.o.Now()
	j.change(func(o *wire.ObservedBuild) {
		at := -1
		for i := range o.Steps {
			s := &o.Steps[i]
			if s.State == claudehub.StepRunning {
				s.State, s.Ended, at = claudehub.StepFailed, now, i
			}
		}
		if at < 0 {
			at = stepBase
			if !f.Cancelled {
				o.Steps[at].State, o.Steps[at].Started, o.Steps[at].Ended = claudehub.StepFailed, now, now
			}
		}
		f.Failure.Step = o.Steps[at].Name
	})
	return f
}

// abandon forgets a job that ended with this Runner.
func (b *Builder) abandon(j *job) {
	j.close()
	err := b.state.change(func(all *records) {
		for _, o := range j.views() {
			delete(all.Builds, o.ID)
		}
	})
	if err != nil {
		b.o.Log.Error("a build that this Runner gave up could not be forgotten", "build", j.ID, "error", err)
	}
}

// making is one run through the steps.
type making struct {
	b   *Builder
	j   *job
	log *buildLog

	boxes []sandbox.ID // that were begun and not removed
	keep  *keptRecord  // the Sandbox to keep, when it fails now
	image sandbox.Image
}

// step runs one step. What f returns as detail is shown with it.
func (m *making) step(i int, f func() (state claudehub.BuildStepState, detail string, err error)) error {
	m.log.line("== " + stepNames[i])
	from := m.log.size()
	m.j.change(func(o *wire.ObservedBuild) {
		s := &o.Steps[i]
		s.State, s.Started, s.LogFrom, s.Progress = claudehub.StepRunning, m.b.o.Now(), from, -1
	})
	state, detail, err := f()
	m.log.flush()
	if err != nil {
		return err
	}
	m.j.change(func(o *wire.ObservedBuild) {
		s := &o.Steps[i]
		s.State, s.Ended, s.Detail, s.Progress = state, m.b.o.Now(), detail, 1
	})
	if detail != "" {
		m.log.line("   " + detail)
	}
	return nil
}

func (m *making) run(ctx context.Context) (sandbox.Image, error) {
	base, tools, err := m.prepare(ctx)
	if err != nil {
		return "", err
	}
	setup := strings.TrimSpace(m.j.Recipe.Setup) != ""
	err = m.step(stepSetup, func() (claudehub.BuildStepState, string, error) {
		if !setup {
			if len(tools.Missing) > 0 {
				return "", "", lacking(tools.Missing)
			}
			return claudehub.StepCached, "there is none", nil
		}
		return m.setup(ctx, base, tools)
	})
	if err != nil {
		return "", err
	}
	m.image = tools.Image
	err = m.step(stepSave, func() (claudehub.BuildStepState, string, error) {
		if !setup {
			return claudehub.StepCached, "", nil
		}
		return m.save(ctx)
	})
	if err != nil {
		return "", err
	}
	err = m.step(stepSmoke, func() (claudehub.BuildStepState, string, error) { return m.smoke(ctx, base) })
	if err != nil {
		return "", err
	}
	return m.image, m.record(base)
}

// record writes down the result, and who may use it.
func (m *making) record(base baseRecord) error {
	now := m.b.o.Now()
	return m.b.state.change(func(all *records) {
		r := imageRecord{Image: m.image, Env: base.Env, Created: now, Used: now, Environments: all.Images[m.j.hash].Environments, Name: m.j.Environment.Name}
		if r.Environments == nil {
			r.Environments = map[claudehub.EnvironmentID]int{}
		}
		for _, e := range m.j.environments() {
			r.Environments[e.ID] = max(r.Environments[e.ID], e.Version)
		}
		all.Images[m.j.hash] = r
	})
}

// environments are those that anyone asked for.
func (j *job) environments() []claudehub.EnvironmentRef {
	j.mu.Lock()
	defer j.mu.Unlock()
	refs := []claudehub.EnvironmentRef{j.Environment}
	for _, a := range j.askers {
		refs = append(refs, a.r.Environment)
	}
	return refs
}

// spec is a Sandbox of this build.
func (m *making) spec(id sandbox.ID, img sandbox.Image) sandbox.Spec {
	r := m.j.Recipe
	return sandbox.Spec{
		ID: id, Image: img, Limits: sandbox.Limits{MemoryBytes: r.Memory, CPUs: r.CPUs, DiskBytes: r.Disk},
		Network: sandbox.Network{Policy: r.Network, Allow: r.Allow},
	}
}

// start brings a Sandbox up, which clear removes.
func (m *making) start(ctx context.Context, spec sandbox.Spec) error {
	ctx, cancel := m.b.within(ctx, startLimit)
	defer cancel()
	m.boxes = append(m.boxes, spec.ID)
	if err := m.b.o.Backend.Start(ctx, spec); err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	return nil
}

// remove removes a Sandbox.
func (m *making) remove(ctx context.Context, id sandbox.ID) error {
	ctx, cancel := m.b.within(context.WithoutCancel(ctx), clearLimit)
	defer cancel()
	if err := m.b.o.Backend.Remove(ctx, id); err != nil {
		return fmt.Errorf("remove sandbox: %w", err)
	}
	for i, o := range m.boxes {
		if o == id {
			m.boxes = append(m.boxes[:i], m.boxes[i+1:]...)
			break
		}
	}
	return nil
}

// clear leaves nothing of a build running: a failed script's Sandbox is stopped and kept, all others are removed. An
// Image that did not pass is removed too.
func (m *making) clear(ctx context.Context, err error) {
	ctx, cancel := m.b.within(ctx, clearLimit)
	defer cancel()
	keep := sandbox.ID("")
	if t, ok := err.(*trouble); ok && t.kept && m.keep != nil { //nolint:errorlint // try makes it one
		if m.b.keep(ctx, m.j, m.keep) {
			keep = m.keep.Sandbox
		}
	}
	for _, id := range m.boxes {
		if id == keep {
			continue
		}
		if err := m.b.o.Backend.Remove(ctx, id); err != nil {
			m.b.o.Log.Error("a build's Sandbox could not be removed", "sandbox", id, "error", err)
		}
	}
	if err != nil && m.image != "" && m.b.unrecorded(m.image) {
		if err := m.b.o.Backend.RemoveImage(ctx, m.image); err != nil {
			m.b.o.Log.Error("an Image that did not pass could not be removed", "image", m.image, "error", err)
		}
	}
}
