package runner

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// leftovers are folders that serve all tests of this process.
var leftovers []string

func TestMain(m *testing.M) {
	clean := goleak.Cleanup(func(code int) {
		for _, dir := range leftovers {
			_ = os.RemoveAll(dir) // the system's temporary folder
		}
		os.Exit(code)
	})
	goleak.VerifyTestMain(m, clean, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func openTestState(t *testing.T) *State {
	t.Helper()
	s, err := OpenState(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func testHub(t *testing.T, url string, token claudehub.Token) *Hub {
	t.Helper()
	h, err := NewHub(url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		h.streaming.CloseIdleConnections()
	})
	return h
}

// nowhere is a Backend for what asks one for its name alone.
type nowhere struct{ sandbox.Backend }

func (nowhere) Name() string { return "nowhere" }

func testBuilder(t *testing.T) *builder.Builder {
	t.Helper()
	b, err := builder.New(builder.Options{Backend: nowhere{}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// logs keeps what a Runner logged.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// until waits for something that is not reported to the Hub.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.After(patience)
	for !done() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			t.Fatalf("did not happen: %s", what)
		}
	}
}
