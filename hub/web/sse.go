package web

import (
	"net/http"
	"strconv"
	"time"

	"claude-hub/internal/claudehub"
)

// sseWrite is how long one batch of events may take to leave; a client that does not read is then cut off.
const sseWrite = 10 * time.Second

// sse writes Server-Sent Events. Its buffer is let go after each batch, since most streams are silent most of the time.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

func startSSE(w http.ResponseWriter) *sse {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect
	return &sse{w: w, control: http.NewResponseController(w)}
}

// event adds one event to the batch; id -1 is none. Data must be one line, as JSON is.
func (s *sse) event(id int64, kind string, data []byte) {
	if id >= 0 {
		s.buf = append(s.buf, "id: "...)
		s.buf = strconv.AppendInt(s.buf, id, 10)
		s.buf = append(s.buf, '\n')
	}
	s.buf = append(s.buf, "event: "...)
	s.buf = append(s.buf, kind...)
	s.buf = append(s.buf, "\ndata: "...)
	s.buf = append(s.buf, data...)
	s.buf = append(s.buf, "\n\n"...)
}

func (s *sse) comment() { s.buf = append(s.buf, ":\n\n"...) }

// flush sends the batch.
func (s *sse) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	b := s.buf
	s.buf = nil
	if err := s.control.SetWriteDeadline(time.Now().Add(sseWrite)); err != nil {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The other side of the stream does not read.")
	}
	return s.control.Flush()
}
