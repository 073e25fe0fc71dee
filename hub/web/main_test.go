package web_test

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"claude-hub/internal/runnertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	runnertest.CloseIdle()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("left running: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// syncBuffer collects a log.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
