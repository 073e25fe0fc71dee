package runnertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Runner is a Runner's side of the protocol, one request at a time.
type Runner struct {
	URL      string
	ID       claudehub.RunnerID
	Token    claudehub.Token
	Instance string
	Protocol int

	tb testing.TB
}

// Request makes a request with the Runner's headers.
func (r *Runner) Request(ctx context.Context, method, path string, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, body)
	if err != nil {
		r.tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token.Reveal())
	req.Header.Set(wire.ProtocolHeader, strconv.Itoa(r.Protocol))
	req.Header.Set(wire.InstanceHeader, r.Instance)
	return req
}

// Refused is an answer that is not what was asked for.
type Refused struct {
	Status int
	Body   string
}

func (e *Refused) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Body) }

func refused(res *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(res.Body, 10_000))
	return &Refused{res.StatusCode, string(b)}
}

// Event is one Server-Sent Event.
type Event struct {
	ID   string
	Kind string
	Data []byte
}

// Stream is an open stream.
type Stream struct {
	body io.ReadCloser
	r    *bufio.Reader
	// Silence counts comments.
	Silence int
}

// streams has connections of its own: a stream never gives its one back.
var streams = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Open opens the stream. It ends with ctx or Close.
func (r *Runner) Open(ctx context.Context, lastID string, takeOver bool) (*Stream, error) {
	req := r.Request(ctx, http.MethodGet, wire.StreamPath+"?host=fake&take_over="+strconv.FormatBool(takeOver), nil)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := streams.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, refused(res)
	}
	return &Stream{body: res.Body, r: bufio.NewReader(res.Body)}, nil
}

// Close hangs up.
func (s *Stream) Close() { s.body.Close() }

// Next reads one event. One that is cut in the middle is none.
func (s *Stream) Next() (Event, error) {
	var e Event
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return Event{}, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.Kind != "":
			return e, nil
		case strings.HasPrefix(line, ":"):
			s.Silence++
		case name == "id":
			e.ID = value
		case name == "event":
			e.Kind = value
		case name == "data":
			e.Data = append(e.Data, value...)
		}
	}
}

func (r *Runner) post(ctx context.Context, path string, body []byte, out any) error {
	res, err := posts.Do(r.Request(ctx, http.MethodPost, path, bytes.NewReader(body)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return refused(res)
	}
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return json.NewDecoder(res.Body).Decode(out)
}

var posts = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}

// CloseIdle lets go of connections that wait, for tests that count goroutines.
func CloseIdle() { posts.CloseIdleConnections() }

// Status posts a status.
func (r *Runner) Status(ctx context.Context, s wire.Status) (out wire.StatusReply, err error) {
	b, err := json.Marshal(s)
	if err != nil {
		return out, err
	}
	return out, r.post(ctx, wire.StatusPath, b, &out)
}

// Events posts a batch.
func (r *Runner) Events(ctx context.Context, e wire.Events) (out wire.EventsReply, err error) {
	b, err := json.Marshal(e)
	if err != nil {
		return out, err
	}
	return out, r.post(ctx, wire.EventsPath, b, &out)
}

// Screen posts frames.
func (r *Runner) Screen(ctx context.Context, id claudehub.SessionID, frames ...wire.Frame) error {
	var b []byte
	var err error
	for _, f := range frames {
		if b, err = wire.AppendFrame(b, f); err != nil {
			return err
		}
	}
	return r.post(ctx, strings.Replace(wire.ScreenPath, "{id}", string(id), 1), b, nil)
}

const retryPause = 20 * time.Millisecond

func (r *Runner) retry() <-chan time.Time { return time.After(retryPause) }

// Read reads events from an answer that the caller has.
func Read(body io.ReadCloser) *Stream { return &Stream{body: body, r: bufio.NewReader(body)} }

// Variables asks for a Session's Variables, as a Runner does when it starts.
func (r *Runner) Variables(ctx context.Context, id claudehub.SessionID) (out wire.Variables, err error) {
	return out, r.get(ctx, strings.Replace(wire.VariablesPath, "{id}", string(id), 1), &out)
}

// BuildVariables asks for a build's Variables.
func (r *Runner) BuildVariables(ctx context.Context, id claudehub.BuildID) (out wire.Variables, err error) {
	return out, r.get(ctx, strings.Replace(wire.BuildVariablesPath, "{id}", string(id), 1), &out)
}

// BuildLog uploads bytes of a build's log.
func (r *Runner) BuildLog(ctx context.Context, id claudehub.BuildID, offset int64, data []byte) (out wire.LogReply, err error) {
	path := strings.Replace(wire.BuildLogPath, "{id}", string(id), 1) + "?offset=" + strconv.FormatInt(offset, 10)
	return out, r.post(ctx, path, data, &out)
}

func (r *Runner) get(ctx context.Context, path string, out any) error {
	res, err := posts.Do(r.Request(ctx, http.MethodGet, path, nil))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return refused(res)
	}
	return json.NewDecoder(res.Body).Decode(out)
}
