package runner

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// keeper keeps what the link hands on, storing ids as the Runner does.
type keeper struct {
	state *State
	mu    sync.Mutex
	got   []int64
	in    []uint64
	ups   int
	done  func()
	want  int
}

func (k *keeper) linked(up bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if up {
		k.ups++
	}
}

func (k *keeper) unopposed() {}

func (k *keeper) snapshot(ctx context.Context, m wire.Snapshot) error {
	return k.state.SaveDesired(ctx, m.Seq, m.Sessions, &m.Machine)
}

func (k *keeper) desired(ctx context.Context, d wire.DesiredSession) error {
	if err := k.state.SaveDesired(ctx, d.Seq, []wire.DesiredSession{d}, nil); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got = append(k.got, d.Seq)
	if len(k.got) == k.want {
		k.done()
	}
	return nil
}

func (k *keeper) machineDesired(ctx context.Context, m wire.DesiredMachine) error {
	return k.state.SaveMachine(ctx, m)
}

func (k *keeper) input(in wire.Input) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.in = append(k.in, in.N)
}
func (k *keeper) resize(wire.Resize) {}
func (k *keeper) attach(wire.Attach) {}
func (k *keeper) detach(wire.Detach) {}

// TestStreamCutAnywhere serves a stream that breaks after every possible number of bytes: each desired state arrives
// once, in order, whole.
func TestStreamCutAnywhere(t *testing.T) {
	const events = 40
	id := claudehub.NewSessionID()
	var mu sync.Mutex
	connections := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
		mu.Lock()
		connections++
		left := 30 + 37*connections%211 // a different place each time, with room for one event in most
		clean := connections%2 == 0
		mu.Unlock()
		w.WriteHeader(http.StatusOK)
		for seq := last + 1; seq <= events; seq++ {
			text := fmt.Sprintf(": ping\n\nid: %d\nevent: desired\ndata: {\"seq\":%d,\"id\":%q,\"desired\":\"awake\"}\n\n", seq, seq, id)
			if len(text) > left {
				_, _ = w.Write([]byte(text[:left]))
				_ = http.NewResponseController(w).Flush()
				if clean {
					return
				}
				panic(http.ErrAbortHandler)
			}
			left -= len(text)
			_, _ = w.Write([]byte(text))
		}
	}))
	defer server.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	state := openTestState(t)
	k := &keeper{state: state, want: events, done: cancel}
	l := &link{hub: testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken)), state: state, to: k, log: quiet()}
	if err := l.Run(ctx); err != nil {
		t.Fatal(err)
	}
	for i, seq := range k.got {
		if seq != int64(i+1) {
			t.Fatalf("event %d has seq %d: %v", i, seq, k.got)
		}
	}
	if connections < 5 {
		t.Errorf("only %d connections: the stream was hardly cut", connections)
	}
}

// TestHubsFinalWords are not argued with.
func TestHubsFinalWords(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   claudehub.Code
	}{
		"not ours": {http.StatusForbidden, claudehub.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w, `{"code":%q,"detail":"A sentence for the person."}`, c.code)
			}))
			defer server.Close()
			state := openTestState(t)
			l := &link{hub: testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken)), state: state, to: &keeper{state: state}, log: quiet()}
			err := l.Run(t.Context())
			if claudehub.CodeOf(err) != c.code || claudehub.MessageOf(err) != "A sentence for the person." {
				t.Errorf("Run: %v", err)
			}
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// TestRefusedTokenStopsTheLink: the Hub's word on the token is asked for once, on the stream or by 401, and the link waits
// for another one. That is not the end of the Runner.
func TestRefusedTokenStopsTheLink(t *testing.T) {
	for name, serve := range map[string]func(http.ResponseWriter){
		"401": func(w http.ResponseWriter) {
			problem(w, http.StatusUnauthorized, claudehub.Unauthenticated, "A sentence for the person.")
		},
		"event":              func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "event: revoked\ndata: {}\n\n") },
		"event without data": func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "event: revoked\ndata: \n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			second := claudehub.NewToken(claudehub.RunnerToken)
			asked := make(chan string, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header.Get("Authorization")
				serve(w)
			}))
			defer server.Close()
			state := openTestState(t)
			hub := testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken))
			l := &link{hub: hub, state: state, to: &keeper{state: state}, log: quiet()}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			<-asked
			until(t, "it is off", func() bool { return hub.tokens.held().off != nil })
			if _, err := hub.Events(ctx, wire.Events{}); claudehub.CodeOf(err) != claudehub.Unauthenticated || claudehub.MessageOf(err) == "" {
				t.Errorf("another request: %v", err)
			}
			hub.tokens.set(second, claudehub.Token{})
			if got := <-asked; got != "Bearer "+second.Reveal() {
				t.Error("the next to be asked with is not the new token")
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if len(asked) != 0 {
				t.Errorf("asked %d times more", len(asked))
			}
		})
	}
}

func TestSupersededEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "event: superseded\ndata: {\"by\":\"elsewhere\"}\n\n")
	}))
	defer server.Close()
	state := openTestState(t)
	l := &link{hub: testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken)), state: state, to: &keeper{state: state}, log: quiet()}
	if err := l.Run(t.Context()); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("Run: %v", err)
	}
}

// TestSilenceIsADeadLink: a Hub that accepts and says nothing more is left for a new connection.
func TestSilenceIsADeadLink(t *testing.T) {
	connected := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		connected <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	state := openTestState(t)
	hub := testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken))
	hub.streaming = &http.Client{Transport: transport(50 * time.Millisecond)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- (&link{hub: hub, state: state, to: &keeper{state: state}, log: quiet()}).Run(ctx)
	}()
	for range 3 {
		<-connected
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	server.CloseClientConnections()
}

func TestTokenTravelsOnlyInsideTLS(t *testing.T) {
	token := claudehub.NewToken(claudehub.RunnerToken)
	for address, ok := range map[string]bool{
		"https://hub.example.org": true, "http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://hub.example.org": false, "ftp://hub.example.org": false, "hub.example.org": false, "": false,
	} {
		if _, err := NewHub(address, token); (err == nil) != ok {
			t.Errorf("NewHub(%q): %v", address, err)
		}
	}
}

// TestOnlyTheHubsWordIsFinal: what stands between here and the Hub may refuse for a while.
func TestOnlyTheHubsWordIsFinal(t *testing.T) {
	answers := []int{http.StatusForbidden, http.StatusUnauthorized, http.StatusConflict, http.StatusBadGateway}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if len(answers) == 0 {
			cancel()
			return
		}
		w.WriteHeader(answers[0])
		_, _ = fmt.Fprint(w, "<html>a proxy's page</html>")
		answers = answers[1:]
	}))
	defer server.Close()
	state := openTestState(t)
	l := &link{hub: testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken)), state: state, to: &keeper{state: state}, log: quiet()}
	if err := l.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if len(answers) != 0 {
		t.Errorf("gave up with %d answers left", len(answers))
	}
}

// TestUnreadableEventIsNotAskedForWithoutPause: a Hub that says what this Runner cannot read is asked more and more
// seldom.
func TestUnreadableEventIsNotAskedForWithoutPause(t *testing.T) {
	times := make(chan time.Time, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		times <- time.Now()
		_, _ = fmt.Fprint(w, "id: 1\nevent: desired\ndata: {\"seq\":\"a word\"}\n\n")
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	state := openTestState(t)
	l := &link{hub: testHub(t, server.URL, claudehub.NewToken(claudehub.RunnerToken)), state: state, to: &keeper{state: state}, log: quiet()}
	go func() { ended <- l.Run(ctx) }()
	var last, gap time.Duration
	before := <-times
	for range 4 {
		at := <-times
		last, gap, before = gap, at.Sub(before), at
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if gap < 400*time.Millisecond || last < 200*time.Millisecond {
		t.Errorf("asked again after %s and %s", last, gap)
	}
}
