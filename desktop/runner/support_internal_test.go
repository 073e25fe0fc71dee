package runner

import (
	"io"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"claude-hub/internal/claudehub"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
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
