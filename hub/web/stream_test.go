package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func next(t *testing.T, s *runnertest.Stream, kind string) runnertest.Event {
	t.Helper()
	e, err := s.Next()
	if err != nil || e.Kind != kind {
		t.Fatalf("%q %s %v, expected %s", e.Kind, e.Data, err, kind)
	}
	return e
}

func open(t *testing.T, r *runnertest.Runner, last string) *runnertest.Stream {
	t.Helper()
	s, err := r.Open(within(t, 20*time.Second), last, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestAStreamBeginsWithASnapshotAndResumes(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.annR, "")
	e := next(t, s, wire.EventSnapshot)
	var snap wire.Snapshot
	if err := json.Unmarshal(e.Data, &snap); err != nil || len(snap.Sessions) != 1 || snap.Sessions[0].ID != h.annS.ID ||
		len(snap.Sessions[0].Prompts) != 1 || e.ID != strconv.FormatInt(snap.Seq, 10) {
		t.Fatalf("%s %s %v", e.ID, e.Data, err)
	}
	if _, err := h.Fleet.Sleep(t.Context(), h.ann.Person.ID, h.annS.ID); err != nil {
		t.Fatal(err)
	}
	e = next(t, s, wire.EventDesired)
	var d wire.DesiredSession
	if err := json.Unmarshal(e.Data, &d); err != nil || d.Desired != claudehub.WantAsleep {
		t.Fatalf("%s %v", e.Data, err)
	}
	s.Close()
	if _, err := h.Fleet.Wake(t.Context(), h.ann.Person.ID, h.annS.ID); err != nil {
		t.Fatal(err)
	}
	resumed := open(t, h.annR, e.ID)
	if e := next(t, resumed, wire.EventDesired); !strings.Contains(string(e.Data), `"desired":"awake"`) {
		t.Fatalf("%s", e.Data)
	}
	resumed.Close()
	// A number that this Hub never gave (its database came from a backup) gets everything.
	next(t, open(t, h.annR, "999999"), wire.EventSnapshot)
}

// TestAStreamCutAnywhereLosesNothing cuts the connection after any number of bytes and resumes, while desired state
// changes: the Runner ends with what the Hub wants.
func TestAStreamCutAnywhereLosesNothing(t *testing.T) {
	h := newHouse(t)
	ctx := within(t, 60*time.Second)
	cut := newCutter(t, strings.TrimPrefix(h.URL, "http://"))
	through := *h.annR
	through.URL = "http://" + cut.addr
	var wg sync.WaitGroup
	const changes = 100
	wg.Go(func() {
		for i := range changes {
			title := fmt.Sprintf("title %d", i)
			if _, err := h.Fleet.UpdateSession(ctx, h.ann.Person.ID, h.annS.ID, fleet.SessionUpdate{Title: &title}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer wg.Wait()
	last, seen, connections := "", int64(-1), 0
	for want := fmt.Sprintf("title %d", changes-1); ; {
		connections++
		s, err := through.Open(ctx, last, false)
		if ctx.Err() != nil {
			t.Fatalf("never came to the end: at %s after %d connections: %v", last, connections, err)
		}
		if err != nil {
			continue // cut in the headers
		}
		done := false
		for !done {
			e, err := s.Next()
			if err != nil {
				break
			}
			id, err := strconv.ParseInt(e.ID, 10, 64)
			if err != nil || id <= seen && e.Kind == wire.EventDesired {
				t.Fatalf("event %s %s after %d", e.ID, e.Kind, seen)
			}
			seen, last = id, e.ID
			done = strings.Contains(string(e.Data), want)
		}
		s.Close()
		if done {
			break
		}
	}
	if connections < 5 {
		t.Errorf("only %d connections: nothing was cut", connections)
	}
}

// cutter passes bytes on and drops the connection after a random number of them.
type cutter struct{ addr string }

func newCutter(t *testing.T, to string) cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	rnd := rand.New(rand.NewPCG(1, 2))
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			limit := int64(rnd.IntN(3000))
			wg.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { // ends with both connections
					_, _ = io.Copy(out, in)
					out.Close()
				}()
				_, _ = io.CopyN(in, out, limit)
			})
		}
	})
	return cutter{l.Addr().String()}
}

func TestTwentyThousandEventsInOrder(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.annR, "")
	next(t, s, wire.EventSnapshot)
	const events = 20_000
	var wg sync.WaitGroup
	ahead := make(chan struct{}, 1000) // the Runner reads along
	wg.Go(func() {
		for i := range uint64(events) {
			ahead <- struct{}{}
			err := h.Fleet.Attach(t.Context(), h.annR.ID, wire.Attach{Session: h.annS.ID, Feed: strconv.FormatUint(i, 10)})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range events {
		e := next(t, s, wire.EventAttach)
		<-ahead
		if e.ID != "" || !strings.Contains(string(e.Data), `"feed":"`+strconv.Itoa(i)+`"`) {
			t.Fatalf("event %d is %s", i, e.Data)
		}
	}
	wg.Wait()
}

// TestARunnerThatDoesNotReadIsCut: it costs a bounded amount of memory and its link is down soon; others go on.
func TestARunnerThatDoesNotReadIsCut(t *testing.T) {
	h := newHouse(t)
	stuck := dialStuck(t, h)
	defer stuck.Close()
	other := open(t, h.bobR, "")
	next(t, other, wire.EventSnapshot)
	ctx := within(t, 30*time.Second)
	paste := make([]byte, 500<<10)
	sent := 0
	for ; sent < 200; sent++ {
		err := h.Fleet.SendInput(ctx, h.ann.Person.ID, wire.Input{Session: h.annS.ID, Terminal: "t", Life: claudehub.NewNonce(), N: 1, Kind: wire.InputPaste, Data: paste})
		if claudehub.CodeOf(err) == claudehub.Unavailable {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		// The Hub's own part goes on meanwhile.
		if err := h.Fleet.Attach(ctx, h.bobR.ID, wire.Attach{Session: h.bobS.ID, Feed: "f"}); err != nil {
			t.Fatal(err)
		}
		next(t, other, wire.EventAttach)
	}
	for {
		link, err := h.Fleet.RunnerLink(ctx, h.annR.ID)
		if err != nil {
			t.Fatal(err)
		}
		if link.State == claudehub.LinkDown {
			return
		}
	}
}

// dialStuck opens a stream and never reads it.
func dialStuck(t *testing.T, h *house) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if err := h.annR.Request(t.Context(), http.MethodGet, wire.StreamPath, nil).Write(conn); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 10*time.Second)
	for {
		link, err := h.Fleet.RunnerLink(ctx, h.annR.ID)
		if err != nil {
			t.Fatal(err)
		}
		if link.State == claudehub.LinkUp {
			return conn
		}
	}
}

func TestOneRunnerProcessAtATime(t *testing.T) {
	h := newHouse(t)
	first := h.annR
	second := *first
	second.Instance = claudehub.NewNonce()
	s1 := open(t, first, "")
	next(t, s1, wire.EventSnapshot)
	if _, err := first.Status(t.Context(), wire.Status{}); err != nil {
		t.Fatal(err)
	}
	_, err := second.Open(t.Context(), "", false)
	refusal(t, "a second process", err, http.StatusConflict)
	_, err = second.Status(t.Context(), wire.Status{})
	refusal(t, "a status of the second", err, http.StatusConflict)

	s2, err := second.Open(within(t, 10*time.Second), "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	next(t, s2, wire.EventSnapshot)
	next(t, s1, wire.EventSuperseded)
	if _, err := s1.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after superseded: %v", err)
	}
	_, err = first.Events(t.Context(), wire.Events{})
	refusal(t, "events of the first", err, http.StatusConflict)
	if _, err := second.Events(t.Context(), wire.Events{}); err != nil {
		t.Error(err)
	}
}

func refusal(t *testing.T, what string, err error, status int) {
	t.Helper()
	var r *runnertest.Refused
	if !errors.As(err, &r) || r.Status != status || !strings.Contains(r.Body, `"detail":"`) {
		t.Errorf("%s: %v, expected %d", what, err, status)
	}
}

// TestTheSameProcessOpensAnotherStream: a Runner notices a dead link before the Hub does.
func TestTheSameProcessOpensAnotherStream(t *testing.T) {
	h := newHouse(t)
	s1 := open(t, h.annR, "")
	next(t, s1, wire.EventSnapshot)
	s2 := open(t, h.annR, "")
	next(t, s2, wire.EventSnapshot)
	if _, err := s1.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the old stream: %v", err)
	}
	link, err := h.Fleet.RunnerLink(t.Context(), h.annR.ID)
	if err != nil || link.State != claudehub.LinkUp {
		t.Errorf("%v %v", link, err)
	}
	if err := h.Fleet.Attach(t.Context(), h.annR.ID, wire.Attach{Session: h.annS.ID, Feed: "f"}); err != nil {
		t.Fatal(err)
	}
	next(t, s2, wire.EventAttach)
}

func TestARunnerOfAnotherProtocolIsToldWhichSideToUpdate(t *testing.T) {
	h := newHouse(t)
	for protocol, word := range map[int]string{0: "Update the Runner", 99: "Update the Hub"} {
		r := *h.annR
		r.Protocol = protocol
		_, err := r.Open(t.Context(), "", false)
		refusal(t, word, err, http.StatusConflict)
		if err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("protocol %d: %v", protocol, err)
		}
	}
}

func TestWhatARunnerPostsIsBounded(t *testing.T) {
	h := newHouse(t)
	next(t, open(t, h.annR, ""), wire.EventSnapshot)
	many := wire.Events{Events: make([]wire.Event, wire.MaxEvents+1)}
	_, err := h.annR.Events(t.Context(), many)
	refusal(t, "too many events", err, http.StatusRequestEntityTooLarge)
	post := func(path, body string) error {
		req := h.annR.Request(t.Context(), http.MethodPost, path, strings.NewReader(body))
		res, err := walker.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return &runnertest.Refused{Status: res.StatusCode, Body: string(b)}
	}
	screen := strings.Replace(wire.ScreenPath, "{id}", string(h.annS.ID), 1)
	whole, err := wire.AppendFrame(nil, wire.Frame{Kind: wire.FrameDelta, Life: claudehub.NewNonce(), Data: []byte("abc")})
	if err != nil {
		t.Fatal(err)
	}
	refusal(t, "no JSON", post(wire.StatusPath, "{"), http.StatusBadRequest)
	refusal(t, "a cut frame", post(screen, string(whole[:len(whole)-1])), http.StatusBadRequest)
	refusal(t, "no frame", post(screen, "hello, this is not a frame at all, is it? no, it is not"), http.StatusBadRequest)
	refusal(t, "9 MB of frames", post(screen, string(bytes.Repeat(whole, 9<<20/len(whole)))), http.StatusRequestEntityTooLarge)
	if err := h.annR.Screen(t.Context(), h.annS.ID, wire.Frame{Kind: wire.FrameDelta, Life: claudehub.NewNonce(), Data: make([]byte, wire.MaxFrame)}); err != nil {
		t.Errorf("the largest frame: %v", err)
	}
}

func TestPagesHearChanges(t *testing.T) {
	h := newHouse(t)
	req, err := http.NewRequestWithContext(within(t, 20*time.Second), http.MethodGet, h.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(h.ann.Cookie)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s := runnertest.Read(res.Body)
	if e := next(t, s, "ready"); string(e.Data) != "{}" {
		t.Errorf("%s", e.Data)
	}
	if _, err := h.Fleet.Sleep(t.Context(), h.bob.Person.ID, h.bobS.ID); err != nil { // not hers
		t.Fatal(err)
	}
	if _, err := h.Fleet.AddPrompt(t.Context(), h.ann.Person.ID, h.annS.ID, "more", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Fleet.RenameRunner(t.Context(), h.ann.Person.ID, h.annR.ID, "renamed"); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for seen["runner"] == "" || seen["prompt"] == "" {
		e, err := s.Next()
		if err != nil {
			t.Fatalf("%v after %v", err, seen)
		}
		seen[e.Kind] += string(e.Data)
	}
	all := fmt.Sprint(seen)
	if !strings.Contains(seen["prompt"], "more") || !strings.Contains(seen["runner"], `"doctor":[]`) || strings.Contains(all, string(h.bobS.ID)) {
		t.Errorf("%v", seen)
	}
}
