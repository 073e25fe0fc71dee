package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

type buildOut struct{ Body claudehub.Build }

func oneBuild(b claudehub.Build, err error) (*buildOut, error) {
	if err != nil {
		return nil, err
	}
	return &buildOut{b}, nil
}

// BuildPath names a Build in a path.
type BuildPath struct {
	ID string `path:"id"`
}

func (s *server) listBuilds(ctx context.Context, c personCaller, in *EnvironmentPath) (*itemsOut[claudehub.Build], error) {
	return items(s.fleet.Builds(ctx, c.ID, claudehub.EnvironmentID(in.ID)))
}

// NewBuild is the body of create-build.
type NewBuild struct {
	Runner  claudehub.RunnerID `json:"runner"`
	Version int                `json:"version,omitempty" doc:"the newest when absent"`
	Again   bool               `json:"again,omitempty" doc:"also when an image is there"`
}

func (s *server) createBuild(ctx context.Context, c personCaller, in *struct {
	EnvironmentPath
	Body NewBuild
}) (*buildOut, error) {
	// The Environment first: who may not see it learns nothing of Runners.
	if _, err := s.fleet.Environment(ctx, c.ID, claudehub.EnvironmentID(in.ID)); err != nil {
		return nil, err
	}
	runner, err := claudehub.ParseRunnerID(string(in.Body.Runner))
	if err != nil {
		return nil, err
	}
	return oneBuild(s.fleet.CreateBuild(ctx, c.ID, fleet.NewBuild{Environment: claudehub.EnvironmentID(in.ID), Runner: runner,
		Version: in.Body.Version, Again: in.Body.Again}))
}

func (s *server) getBuild(ctx context.Context, c personCaller, in *BuildPath) (*buildOut, error) {
	id, err := claudehub.ParseBuildID(in.ID)
	if err != nil {
		return nil, err
	}
	return oneBuild(s.fleet.Build(ctx, c.ID, id))
}

func (s *server) cancelBuild(ctx context.Context, c personCaller, in *BuildPath) (*buildOut, error) {
	id, err := claudehub.ParseBuildID(in.ID)
	if err != nil {
		return nil, err
	}
	return oneBuild(s.fleet.CancelBuild(ctx, c.ID, id))
}

func (s *server) lookInside(ctx context.Context, c personCaller, in *BuildPath) (*sessionOut, error) {
	id, err := claudehub.ParseBuildID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.Look(ctx, c.ID, id))
}

// LogPart is one event of a build's log.
type LogPart struct {
	Offset int64  `json:"offset" doc:"of the first byte"`
	Data   []byte `json:"data"`
}

// buildLog streams a build's log from an offset on, and ends when the build is over and all is sent.
func (s *server) buildLog(w http.ResponseWriter, r *http.Request, c personCaller) error {
	id, err := claudehub.ParseBuildID(r.PathValue("id"))
	if err != nil {
		return err
	}
	from, err := logFrom(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := aside(func() error { _, err := s.fleet.Build(ctx, c.ID, id); return err }); err != nil {
		return err
	}
	out := &pinged{sse: startSSE(w)}
	out.comment()
	if err := out.flush(); err != nil {
		return err
	}
	look, deaf := s.revocations(c)
	defer deaf()
	ctx, stop := out.ping(ctx, look, func(ctx context.Context) error { return s.stillIn(ctx, c) })
	defer stop()
	err = s.fleet.FollowBuildLog(ctx, c.ID, id, from, func(offset int64, data []byte) error {
		b, err := json.Marshal(LogPart{offset, data})
		if err != nil {
			return err
		}
		return out.send(offset+int64(len(data)), "log", b)
	})
	if err == nil && ctx.Err() == nil {
		err = out.send(-1, "end", []byte("{}"))
	}
	recordOf(r.Context()).err = err // the answer has begun: its end says the rest
	return nil
}

// logFrom: a browser that connects again says what it had last.
func logFrom(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("from")
	}
	if text == "" {
		return 0, nil
	}
	from, err := strconv.ParseInt(text, 10, 64)
	if err != nil || from < 0 {
		return 0, claudehub.Errorf(claudehub.Invalid, "A place in a log is a number of bytes, 0 or more.")
	}
	return from, nil
}

// pinged is a stream of events that says something when it was silent for long.
type pinged struct {
	mu     sync.Mutex
	silent bool
	*sse
}

func (p *pinged) send(id int64, kind string, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = false
	p.event(id, kind, data)
	return p.flush()
}

// ping writes comments until stop; the context that it gives ends when check refuses, which is asked at each and when look
// says so.
func (p *pinged) ping(ctx context.Context, look <-chan struct{}, check func(context.Context) error) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(wire.StreamPing)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-look:
				if check(ctx) != nil {
					end()
					return
				}
				continue
			case <-tick.C:
			}
			if check(ctx) != nil {
				end()
				return
			}
			p.mu.Lock()
			if p.silent {
				p.comment()
				_ = p.flush() // a dead page ends its request's context
			}
			p.silent = true
			p.mu.Unlock()
		}
	})
	return ctx, func() { close(done); wg.Wait(); end() }
}

// buildLogText is the whole log, for keeping. It is marked as a download: what a build prints is no page.
func (s *server) buildLogText(w http.ResponseWriter, r *http.Request, c personCaller) error {
	id, err := claudehub.ParseBuildID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if _, err := s.fleet.Build(r.Context(), c.ID, id); err != nil {
		return err
	}
	begin := sync.OnceFunc(func() {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+string(id)+`.txt"`)
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusOK)
	})
	err = s.fleet.BuildLog(r.Context(), c.ID, id, func(data []byte) error {
		begin()
		_, err := w.Write(data)
		return err
	})
	if rec := recordOf(r.Context()); err != nil && rec.status != 0 {
		rec.err = err
		panic(http.ErrAbortHandler) // the answer has begun: one that is cut off is told from a whole one
	}
	if err == nil {
		begin()
	}
	return err
}

// runnerBuildLog takes bytes of a build's log, and answers how much of it is here.
func (s *server) runnerBuildLog(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	id, err := claudehub.ParseBuildID(r.PathValue("id"))
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return claudehub.Errorf(claudehub.Invalid, "The offset of a log's bytes is missing or is not a number.")
	}
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	data, err := io.ReadAll(r.Body)
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return big
	case err != nil:
		return claudehub.WithCause(claudehub.Invalid, err, "The log's bytes did not come whole.")
	}
	out, err := s.fleet.StoreBuildLog(r.Context(), c.id, id, offset, data)
	if err != nil {
		return err
	}
	return writeJSON(w, out)
}
