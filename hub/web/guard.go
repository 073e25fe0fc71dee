package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

const (
	requestTime = 60 * time.Second // for a whole request and its answer, but for streams
	bodyTime    = 30 * time.Second
)

// record is what the log line of one request says.
type record struct {
	id        string
	address   netip.Addr // where it comes from
	host      string     // that it asks for
	pattern   string
	principal principal
	actor     fleet.Actor
	who       string
	err       error
	status    int
	stream    bool
	noted     bool // the refusal is in the audit log already
}

type recordKey struct{}

func recordOf(ctx context.Context) *record {
	rec, _ := ctx.Value(recordKey{}).(*record)
	return rec
}

// outer is what every request passes, known route or not.
func (s *server) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &record{id: claudehub.NewNonce(), address: addressOf(r, s.opt.TrustedProxies), host: r.Host}
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		aw := &answer{ResponseWriter: w, rec: rec}
		s.headers(w.Header())
		w.Header().Set("X-Request-Id", rec.id)
		defer func() {
			s.recovered(aw, r, rec, recover())
			s.done(r, rec, time.Since(start))
		}()
		next.ServeHTTP(aw, r)
	})
}

func (s *server) recovered(w *answer, r *http.Request, rec *record, got any) {
	if got == nil {
		return
	}
	if err, ok := got.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(got) // the server's own way to drop a connection
	}
	s.log.Error("panic in a request", "request", rec.id, "route", rec.pattern, "panic", fmt.Sprint(got), "stack", string(debug.Stack()))
	if rec.status == 0 {
		writeError(w, r, claudehub.Errorf(claudehub.Internal, "%s", claudehub.MessageOf(nil)))
	}
}

func (s *server) done(r *http.Request, rec *record, took time.Duration) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	s.metrics.request(rec, took, rec.stream)
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String("request", rec.id), slog.String("method", r.Method), slog.String("route", rec.pattern),
		slog.Int("status", rec.status), slog.Duration("took", took))
	if rec.who != "" {
		attrs = append(attrs, slog.String("who", rec.who))
	}
	if rec.err != nil {
		attrs = append(attrs, slog.String("from", textOf(rec.address)), slog.String("err", rec.err.Error()))
		if rec.status >= 500 {
			level = slog.LevelError
		}
	} else if rec.principal != anyone && rec.status < 300 {
		level = slog.LevelDebug // what goes well is counted, not told
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// sentByItself: a page of another site can have a browser send its cookies, and forms. A token is sent by who has it.
func sentByItself(rt route, r *http.Request) bool {
	switch rt.who {
	case runnerOf:
		return false
	case anyone:
		return true
	}
	_, bearer := bearerOf(r)
	return !bearer
}

var crossOrigin = http.NewCrossOriginProtection()

// guard is what a request passes on its way to its route: time and size, where it comes from, how often, and who it is.
func (s *server) guard(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recordOf(r.Context())
		rec.pattern, rec.principal, rec.stream = rt.pattern(), rt.who, rt.stream
		w, r, end := bounded(w, r, rt)
		defer end()
		if err := s.pass(w, r, rt); err != nil {
			writeError(w, r, err)
		}
		s.note(r, rt, rec)
	})
}

// bounded gives a request its time and its size.
func bounded(w http.ResponseWriter, r *http.Request, rt route) (http.ResponseWriter, *http.Request, func()) {
	var cancel context.CancelFunc
	ctx := r.Context()
	control := http.NewResponseController(w)
	if rt.stream {
		_ = control.SetWriteDeadline(time.Time{})
		ctx, cancel = untilStop(ctx)
	} else {
		_ = control.SetWriteDeadline(time.Now().Add(requestTime))
		ctx, cancel = context.WithTimeout(ctx, requestTime)
	}
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		_ = control.SetReadDeadline(time.Now().Add(bodyTime))
		r.Body = http.MaxBytesReader(w, r.Body, rt.limit)
	}
	return w, r, cancel
}

// pass asks in order: does a page of another site send a person's cookie, is it too often, who is it, may they.
func (s *server) pass(w http.ResponseWriter, r *http.Request, rt route) error {
	rec := recordOf(r.Context())
	rec.actor = actorOf(nil, rec)
	if sentByItself(rt, r) {
		if err := crossOrigin.Check(r); err != nil {
			return claudehub.WithCause(claudehub.Forbidden, err, "That request came from another site.")
		}
		if rt.open != opensNothing { // it is asked for with GET, and yet takes a place for as long as it is open
			if err := s.ownOrigin(r); err != nil {
				return err
			}
		}
	}
	if rt.attempts != nil {
		if err := rt.attempts(s.limits).take(rec.pattern+" "+blockOf(rec.address), time.Now()); err != nil {
			return err
		}
	}
	r = r.WithContext(fleet.WithActor(r.Context(), rec.actor))
	authed, err := s.authenticateFor(rt, r)
	if err != nil {
		return s.notIn(r, err)
	}
	leave, err := s.admit(rt, authed)
	if err != nil {
		return err
	}
	defer leave()
	end, err := s.tries(rt, rec)
	if err != nil {
		return err
	}
	defer end()
	rt.handler.ServeHTTP(w, authed)
	return nil
}

func (s *server) authenticateFor(rt route, r *http.Request) (authed *http.Request, err error) {
	if !rt.stream {
		return s.authenticate(rt, r)
	}
	err = aside(func() (err error) {
		authed, err = s.authenticate(rt, r)
		return err
	})
	return authed, err
}

// answer notes the status for the log.
type answer struct {
	http.ResponseWriter
	rec *record
}

func (a *answer) WriteHeader(status int) {
	if a.rec.status == 0 || a.rec.status < 200 {
		a.rec.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.rec.status == 0 {
		a.rec.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController and the WebSocket reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
