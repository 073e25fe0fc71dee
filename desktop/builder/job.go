package builder

import (
	"context"
	"slices"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// asker is one call of Ensure that waits for a job.
type asker struct{ r Request }

func (r Request) tell(o wire.ObservedBuild) {
	if r.Report != nil {
		r.Report(o)
	}
}

// observed is a build of this request's own.
func (r Request) observed(s claudehub.BuildState) wire.ObservedBuild {
	return wire.ObservedBuild{
		ID: r.ID, Environment: r.Environment.ID, Version: r.Environment.Version, Hash: r.Recipe.Hash(), Session: r.Session,
		State: s, Steps: []claudehub.BuildStep{},
	}
}

// job is one build that runs, or is about to.
type job struct {
	Request // of who was first
	hash    string
	now     func() time.Time
	log     *buildLog // once it runs

	done  chan struct{} // closed at its end; image and err are set before
	image sandbox.Image
	err   error

	mu     sync.Mutex
	askers []*asker
	seen   wire.ObservedBuild
	end    context.CancelCauseFunc // nil until it runs
	ending error                   // it was ended before that
	closed bool                    // nobody joins any more
	told   time.Time
}

func newJob(first *asker, now func() time.Time) *job {
	j := &job{Request: first.r, hash: first.r.Recipe.Hash(), now: now, done: make(chan struct{}), askers: []*asker{first}}
	j.seen = first.r.observed(claudehub.BuildQueued)
	for _, name := range stepNames {
		j.seen.Steps = append(j.seen.Steps, claudehub.BuildStep{Name: name, State: claudehub.StepWaiting, Progress: -1})
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tellLocked()
	return j
}

// join adds an asker, unless the job is ending.
func (j *job) join(a *asker) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.askers = append(j.askers, a)
	a.r.tell(j.viewLocked(a))
	return true
}

// leave takes an asker away. The last one ends the job; one that is explicit stays.
func (j *job) leave(a *asker) {
	if a.r.Explicit {
		return
	}
	j.mu.Lock()
	j.askers = slices.DeleteFunc(j.askers, func(o *asker) bool { return o == a })
	alone := len(j.askers) == 0
	j.mu.Unlock()
	if alone {
		j.cancel(errCancelled)
	}
}

// cancel ends the job with a cause, now or as soon as it runs.
func (j *job) cancel(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.end != nil {
		j.end(cause)
	} else if j.ending == nil {
		j.ending = cause
	}
}

// begin tells the job how to end it.
func (j *job) begin(end context.CancelCauseFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end = end
	if j.ending != nil {
		end(j.ending)
	}
}

// ids are those that a person or the Hub may call this job by: its own, and those of who asked for a build as such.
func (j *job) ids() []claudehub.BuildID {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids := []claudehub.BuildID{j.ID}
	for _, a := range j.askers {
		if a.r.Explicit && a.r.ID != j.ID {
			ids = append(ids, a.r.ID)
		}
	}
	return ids
}

func (j *job) has(id claudehub.BuildID) bool { return slices.Contains(j.ids(), id) }

// change alters what is seen of the job and tells it.
func (j *job) change(f func(*wire.ObservedBuild)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.seen)
	j.tellLocked()
}

// progress is change for what changes often: it is told a few times a second.
func (j *job) progress(step int, done float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen.Steps[step].Progress = done
	if now := time.Now(); now.Sub(j.told) > 300*time.Millisecond {
		j.tellLocked()
	}
}

func (j *job) tellLocked() {
	j.told = time.Now()
	for _, a := range j.askers {
		a.r.tell(j.viewLocked(a))
	}
}

// viewLocked is the job as one asker sees it.
func (j *job) viewLocked(a *asker) wire.ObservedBuild {
	o := j.seen
	o.Steps = slices.Clone(o.Steps)
	if a.r.Explicit {
		o.ID, o.Environment, o.Version = a.r.ID, a.r.Environment.ID, a.r.Environment.Version
	}
	return o
}

// views are what the job is under each of its ids.
func (j *job) views() []wire.ObservedBuild {
	j.mu.Lock()
	defer j.mu.Unlock()
	own := j.seen
	own.Steps = slices.Clone(own.Steps)
	all := []wire.ObservedBuild{own}
	for _, a := range j.askers {
		if a.r.Explicit && a.r.ID != j.ID {
			all = append(all, j.viewLocked(a))
		}
	}
	return all
}

// close lets nobody join any more.
func (j *job) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

func (j *job) finish(img sandbox.Image, err error) {
	j.close()
	j.image, j.err = img, err
	close(j.done)
}

// variables asks the first who can answer.
func (j *job) variables(ctx context.Context) (env, secrets []string, err error) {
	j.mu.Lock()
	ask := j.Variables
	for _, a := range j.askers {
		if a.r.Variables != nil {
			ask = a.r.Variables
			break
		}
	}
	j.mu.Unlock()
	if ask == nil {
		return nil, nil, nil
	}
	return ask(ctx)
}
