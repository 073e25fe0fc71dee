package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// errEnded says that a step ended the answer: an error or a cut.
var errEnded = errors.New("the script ended the answer")

func (s *Server) messages(w http.ResponseWriter, r *http.Request, q *Request) {
	b, ok := s.read(w, r, q)
	if !ok {
		return
	}
	req, err := parseRequest(b)
	if err != nil {
		s.refuse(w, q, http.StatusBadRequest, "stand-in: "+err.Error())
		return
	}
	s.rec.update(q, func(q *Request) {
		q.Model, q.Effort, q.Stream = req.Model, req.OutputConfig.Effort, req.Stream
		q.Tools, q.Turns = len(req.Tools), req.turns()
	})
	a := &playing{s: s, req: req, q: q, w: w, sink: newSink(w, req, len(b), q.Number)}
	if req.aside() {
		s.rec.update(q, func(q *Request) { q.Kind = "aside" })
		a.outcome(a.aside())
		return
	}
	if broken := s.script.Expect.broken(req); broken != "" {
		s.rec.fail(fmt.Sprintf("request %d: %s", q.Number, broken))
		s.refuse(w, q, http.StatusBadRequest, "stand-in: "+broken)
		return
	}
	a.outcome(a.play(r.Context()))
}

func newSink(w http.ResponseWriter, req *request, size, number int) sink {
	msg := newAnswer(fmt.Sprintf("msg_standin_%d", number), req.Model, max(size/4, 1))
	if req.Stream {
		return &stream{w: w, msg: msg}
	}
	return &whole{w: w, msg: msg}
}

func (e Expect) broken(req *request) string {
	if e.model != nil && !e.model.MatchString(req.Model) {
		return fmt.Sprintf("model %q was asked for, and %q was expected", req.Model, e.Model)
	}
	if e.effort != nil && !e.effort.MatchString(req.OutputConfig.Effort) {
		return fmt.Sprintf("effort %q was asked for, and %q was expected", req.OutputConfig.Effort, e.Effort)
	}
	return ""
}

// playing is one answer on its way.
type playing struct {
	s      *Server
	req    *request
	q      *Request
	w      http.ResponseWriter
	sink   sink
	prompt string
	rule   Rule
	nth    int
}

// outcome closes the log's line. A cut is done last: it leaves by a panic that net/http knows.
func (a *playing) outcome(err error) {
	switch {
	case err == nil:
		a.s.done(a.q, nil)
	case !errors.Is(err, errEnded):
		a.s.rec.update(a.q, func(q *Request) { q.Status, q.Outcome = http.StatusOK, "left" })
	case a.q.Outcome == "cut":
		panic(http.ErrAbortHandler)
	}
}

// aside answers Claude Code's own small question in the form that it asked for.
func (a *playing) aside() error {
	text := "Stand-in session"
	if f := a.req.OutputConfig.Format; f != nil {
		filled := m{}
		for name := range f.Schema.Properties {
			filled[name] = text
		}
		b, err := json.Marshal(filled)
		if err != nil {
			return err
		}
		text = string(b)
	}
	if err := a.sink.text(text); err != nil {
		return err
	}
	return a.sink.finish("end_turn")
}

func (a *playing) play(ctx context.Context) error {
	prompt, nth, occurrences := a.req.prompt()
	a.prompt, a.nth, a.rule = prompt, nth, a.s.script.pick(prompt)
	a.s.rec.prompt(prompt, nth, occurrences)
	a.s.rec.update(a.q, func(q *Request) { q.Prompt, q.Rule, q.Answer = excerpt(prompt), a.rule.Name, nth })

	steps := a.rule.answerSteps(nth)
	if len(steps) == 0 {
		steps = []Step{{Say: "stand-in: the script has no more steps."}}
	}
	stop := "end_turn"
	for i, step := range steps {
		if step.Tool != "" {
			stop = "tool_use"
		}
		if err := a.step(ctx, step, i); err != nil {
			return err
		}
	}
	return a.sink.finish(stop)
}

func (a *playing) step(ctx context.Context, step Step, i int) error {
	switch {
	case step.Say != "":
		return a.say(ctx, step)
	case step.Tool != "":
		input := step.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		return a.sink.tool(fmt.Sprintf("toolu_standin_%d_%d", a.q.Number, i), step.Tool, input)
	case step.Hang != "":
		return a.s.gates.wait(ctx, step.Hang)
	case step.Cut:
		a.s.rec.update(a.q, func(q *Request) { q.Status, q.Outcome = http.StatusOK, "cut" })
		return errEnded
	}
	return a.fail(step, i)
}

func (a *playing) fail(step Step, i int) error {
	if step.Times > 0 && a.s.given(fmt.Sprintf("%s\x00%s\x00%d\x00%d", a.rule.Name, a.prompt, a.nth, i)) > step.Times {
		return nil
	}
	message := step.Message
	if message == "" {
		message = fmt.Sprintf("stand-in: scripted error %d", step.Error)
	}
	a.s.rec.update(a.q, func(q *Request) { q.Status, q.Outcome = step.Error, "failed" })
	if err := a.sink.fail(step.Error, message); err != nil {
		return err
	}
	return errEnded
}

// given counts how often an error step was reached.
func (s *Server) given(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors[key]++
	return s.errors[key]
}

func (a *playing) say(ctx context.Context, step Step) error {
	filled := strings.NewReplacer("${prompt}", a.prompt, "${result}", a.req.result(),
		"${model}", a.req.Model, "${effort}", a.req.OutputConfig.Effort).Replace(step.Say)
	for n := range max(step.Repeat, 1) {
		text := filled
		if step.Repeat > 0 {
			text = strings.ReplaceAll(filled, "${n}", strconv.Itoa(n+1))
		}
		for text != "" {
			var piece string
			piece, text = cutRunes(text, step.Chunk)
			if err := sleep(ctx, step.delay()); err != nil {
				return err
			}
			if err := a.sink.text(piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutRunes cuts the first n characters off; 0 is all.
func cutRunes(s string, n int) (head, tail string) {
	if n <= 0 {
		return s, ""
	}
	at := 0
	for range n {
		if at == len(s) {
			break
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at], s[at:]
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
