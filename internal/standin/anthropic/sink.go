package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// sink is where an answer goes: a stream of events, or one JSON document at the end.
type sink interface {
	text(piece string) error
	tool(id, name string, input json.RawMessage) error
	// fail reports an error in the API's form: as the status when nothing was written, inside the stream otherwise.
	fail(status int, message string) error
	finish(stop string) error
}

type usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

type answerBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

type answer struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Role       string        `json:"role"`
	Model      string        `json:"model"`
	Content    []answerBlock `json:"content"`
	StopReason *string       `json:"stop_reason"`
	Usage      usage         `json:"usage"`
}

func newAnswer(id, model string, in int) answer {
	return answer{ID: id, Type: "message", Role: "assistant", Model: model, Content: []answerBlock{}, Usage: usage{InputTokens: in, OutputTokens: 1}}
}

// whole collects an answer that was asked for without a stream.
type whole struct {
	w   http.ResponseWriter
	msg answer
}

func (s *whole) text(piece string) error {
	if n := len(s.msg.Content); n > 0 && s.msg.Content[n-1].Type == "text" {
		s.msg.Content[n-1].Text += piece
		return nil
	}
	s.msg.Content = append(s.msg.Content, answerBlock{Type: "text", Text: piece})
	return nil
}

func (s *whole) tool(id, name string, input json.RawMessage) error {
	s.msg.Content = append(s.msg.Content, answerBlock{Type: "tool_use", ID: id, Name: name, Input: input})
	return nil
}

func (s *whole) fail(status int, message string) error { return writeError(s.w, status, message) }

func (s *whole) finish(stop string) error {
	s.msg.StopReason = &stop
	return writeJSON(s.w, http.StatusOK, s.msg)
}

// stream writes server-sent events, each flushed at once.
type stream struct {
	w     http.ResponseWriter
	msg   answer
	began bool
	index int  // of the open or next block
	open  bool // a text block is open
	out   int
}

func (s *stream) event(name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	rc := http.NewResponseController(s.w)
	// A reader that has stopped reading must not hold the stand-in for ever.
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, b); err != nil {
		return err
	}
	return rc.Flush()
}

type m = map[string]any

func (s *stream) begin() error {
	if s.began {
		return nil
	}
	s.began = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	return s.event("message_start", m{"type": "message_start", "message": s.msg})
}

func (s *stream) start(b any) error {
	return s.event("content_block_start", m{"type": "content_block_start", "index": s.index, "content_block": b})
}

func (s *stream) delta(d any) error {
	return s.event("content_block_delta", m{"type": "content_block_delta", "index": s.index, "delta": d})
}

// end closes the open block, if there is one.
func (s *stream) end() error {
	if !s.open {
		return nil
	}
	s.open = false
	err := s.event("content_block_stop", m{"type": "content_block_stop", "index": s.index})
	s.index++
	return err
}

func (s *stream) text(piece string) error {
	if err := s.begin(); err != nil {
		return err
	}
	if !s.open {
		s.open = true
		if err := s.start(m{"type": "text", "text": ""}); err != nil {
			return err
		}
	}
	s.out += tokens(piece)
	return s.delta(m{"type": "text_delta", "text": piece})
}

func (s *stream) tool(id, name string, input json.RawMessage) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	s.open = true
	if err := s.start(m{"type": "tool_use", "id": id, "name": name, "input": m{}}); err != nil {
		return err
	}
	// The input comes in pieces that are not JSON each, as it does from the real service.
	in := string(input)
	for half := len(in) / 2; in != ""; half = len(in) {
		if err := s.delta(m{"type": "input_json_delta", "partial_json": in[:max(half, 1)]}); err != nil {
			return err
		}
		in = in[max(half, 1):]
	}
	s.out += tokens(string(input))
	return s.end()
}

func (s *stream) fail(status int, message string) error {
	if !s.began {
		return writeError(s.w, status, message)
	}
	return s.event("error", m{"type": "error", "error": m{"type": errorType(status), "message": message}})
}

func (s *stream) finish(stop string) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	d := m{"type": "message_delta", "delta": m{"stop_reason": stop, "stop_sequence": nil}, "usage": m{"output_tokens": max(s.out, 1)}}
	if err := s.event("message_delta", d); err != nil {
		return err
	}
	return s.event("message_stop", m{"type": "message_stop"})
}

// tokens is a rough count: four bytes each.
func tokens(s string) int { return (len(s) + 3) / 4 }

func errorType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

func writeError(w http.ResponseWriter, status int, message string) error {
	return writeJSON(w, status, m{"type": "error", "error": m{"type": errorType(status), "message": message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}
