package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/client/cli"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// stage is a Hub where Ann's Runner is linked and shows an awake Session's terminal.
type stage struct {
	*runnertest.Hub
	ctx    context.Context //nolint:containedctx // the test's own deadline
	ann    claudehub.Person
	cookie string
	runner *runnertest.Runner
	sess   claudehub.Session
	term   *runnertest.Terminal
	dir    string
	stop   func()
}

func newStage(t testing.TB) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	s := &stage{Hub: runnertest.NewHub(t, nil), ctx: ctx, dir: t.TempDir()}
	s.ann = s.Person("ann")
	s.cookie = s.SignIn(s.ann).Cookie.String()
	s.runner = s.Runner(s.ann, "box")
	s.sess = s.Session(s.ann, s.runner)
	s.term = s.runner.NewTerminal(s.sess.ID)
	s.serve(t)
	return s
}

// serve links the Runner, until s.stop or the end of the test.
func (s *stage) serve(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.term.Serve(ctx) })
	s.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(s.stop)
	s.poll(t, "the Runner's link", func() bool {
		l, err := s.Fleet.RunnerLink(s.ctx, s.runner.ID)
		check(t, err)
		return l.State == claudehub.LinkUp
	})
	s.observe(t, claudehub.LinkUp)
}

func (s *stage) observe(t testing.TB, sandbox claudehub.LinkState) {
	t.Helper()
	now := time.Now()
	_, err := s.runner.Status(s.ctx, wire.Status{Sessions: []wire.ObservedSession{{ID: s.sess.ID, Observed: claudehub.Observed{
		Phase: claudehub.PhaseAwake, Activity: claudehub.Ready, Generation: s.sess.Generation, Since: now, Doing: "Ready for you",
		SandboxLink: claudehub.Link{State: sandbox, Since: now}}}}})
	check(t, err)
}

// poll waits until ok holds.
func (s *stage) poll(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-s.ctx.Done():
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

// ran is how a command went.
type ran struct {
	code     int
	out, err string
}

// run runs a command as Ann, with input, no terminal anywhere.
func (s *stage) run(t testing.TB, input string, args ...string) ran {
	t.Helper()
	e, out, errs := s.env(input)
	e.Transport = signedIn(s.cookie)
	code := program(s.ctx, args, e)
	return ran{code, out.String(), errs.String()}
}

func (s *stage) env(input string) (e *cli.Env, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Env{In: strings.NewReader(input), Out: out, Err: errs, Dir: s.dir, Getenv: func(name string) string {
		if name == "CLAUDE_HUB_URL" {
			return s.URL
		}
		return ""
	}}, out, errs
}

// ok runs a command that must succeed, at the stage's Hub.
func (s *stage) ok(t testing.TB, input string, args ...string) ran {
	t.Helper()
	t.Setenv("CLAUDE_HUB_URL", s.URL)
	r := s.run(t, input, args...)
	if r.code != 0 {
		t.Fatalf("%v: exit %d: %s%s", args, r.code, r.out, r.err)
	}
	return r
}

// fails runs a command that must fail with a code and a sentence.
func (s *stage) fails(t testing.TB, code int, sentence string, args ...string) {
	t.Helper()
	t.Setenv("CLAUDE_HUB_URL", s.URL)
	r := s.run(t, "", args...)
	if r.code != code || !strings.Contains(r.err, sentence) || r.out != "" {
		t.Errorf("%v: exit %d, want %d with %q: %s%s", args, r.code, code, sentence, r.out, r.err)
	}
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), mode))
}
