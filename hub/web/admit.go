package web

import (
	"io"
	"net/http"
	"time"

	"claude-hub/internal/claudehub"
)

// notIn counts a credential that opens nothing, by the address that it comes from. Who has sent too many of them hears
// that instead. A good one is never refused for the bad ones that came from the same place: it cannot be guessed, and
// those who are in stay in.
func (s *server) notIn(r *http.Request, err error) error {
	if claudehub.CodeOf(err) != claudehub.Unauthenticated || !carriesCredential(r) {
		return err
	}
	if over := s.limits.failures.take(blockOf(recordOf(r.Context()).address), time.Now()); over != nil {
		return over
	}
	return err
}

func carriesCredential(r *http.Request) bool {
	_, err := r.Cookie(cookieName)
	return err == nil || r.Header.Get("Authorization") != ""
}

// admit counts what a known caller asks, and holds the place of what stays open until leave.
func (s *server) admit(rt route, r *http.Request) (leave func(), err error) {
	rec := recordOf(r.Context())
	switch c := r.Context().Value(callerKey{}).(type) {
	case personCaller:
		rec.who = string(c.ID)
		if err := s.mayWrite(r, rec.who); err != nil {
			return nil, err
		}
		return s.enterOpen(rt, rec)
	case runnerCaller:
		rec.who = string(c.id)
		return func() {}, s.weighs(r, s.limits.runnerUploads, rec.who)
	}
	return func() {}, nil
}

func (s *server) mayWrite(r *http.Request, who string) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if err := s.limits.writes.take(who, time.Now()); err != nil {
		return err
	}
	return s.weighs(r, s.limits.uploads, who)
}

// weighs refuses who has sent too much already, and counts what comes now as it is read.
func (s *server) weighs(r *http.Request, sent *rates, who string) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if err := sent.debt(who, time.Now()); err != nil {
		return err
	}
	r.Body = &weighed{r.Body, func(n int) { sent.add(who, n, time.Now()) }}
	return nil
}

type weighed struct {
	io.ReadCloser
	add func(int)
}

func (b *weighed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.add(n)
	return n, err
}

// tries holds a place among the wrong codes of a person and an address, and takes it when the code was wrong.
func (s *server) tries(rt route, rec *record) (end func(), err error) {
	if !rt.code {
		return func() {}, nil
	}
	now := time.Now()
	endAddress, err := s.limits.entryAddress.try(blockOf(rec.address), now)
	if err != nil {
		return nil, err
	}
	endPerson := func(bool) {}
	if rec.who != "" {
		if endPerson, err = s.limits.entryPerson.try(rec.who, now); err != nil {
			endAddress(false)
			return nil, err
		}
	}
	return func() {
		wrong := wrongCode(rec.err)
		endAddress(wrong)
		endPerson(wrong)
	}, nil
}

// enterOpen counts terminals and streams of a person and of an address.
func (s *server) enterOpen(rt route, rec *record) (leave func(), err error) {
	mine, theirs := s.limits.sockets, s.limits.socketsPerAddress
	switch rt.open {
	case opensNothing:
		return func() {}, nil
	case opensStream:
		mine, theirs = s.limits.streams, s.limits.streamsPerAddress
	}
	leaveMine, err := mine.enter(rec.who)
	if err != nil {
		return nil, err
	}
	leaveTheirs, err := theirs.enter(blockOf(rec.address))
	if err != nil {
		leaveMine()
		return nil, err
	}
	return func() { leaveTheirs(); leaveMine() }, nil
}
