package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// What a Runner posts is decoded without regard to fields that this Hub does not know: a Runner may be newer. The fleet
// checks what it uses.

func (s *server) runnerStatus(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	var in wire.Status
	if err := readJSON(r, &in); err != nil {
		return err
	}
	out, err := s.fleet.ObserveStatus(r.Context(), c.id, in)
	if err != nil {
		return err
	}
	out.Gone, out.GoneBuilds = list(out.Gone), list(out.GoneBuilds)
	return writeJSON(w, out)
}

func (s *server) runnerEvents(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	var in wire.Events
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if len(in.Events) > wire.MaxEvents {
		return claudehub.Errorf(claudehub.TooLarge, "A batch has at most %d events.", wire.MaxEvents)
	}
	out, err := s.fleet.StoreEvents(r.Context(), c.id, in)
	if err != nil {
		return err
	}
	out.Stored = list(out.Stored)
	return writeJSON(w, out)
}

// runnerScreen hands frames on as they come. When the answer is lost the Runner posts them again: viewers know by the
// sequence numbers what they have.
func (s *server) runnerScreen(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	id, err := claudehub.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	if err := s.fleet.OwnsSession(r.Context(), c.id, id); err != nil {
		return err
	}
	for {
		f, err := wire.ReadFrame(r.Body)
		if errors.Is(err, io.EOF) {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		if err != nil {
			return claudehub.WithCause(claudehub.Invalid, err, "That is not a whole screen frame.")
		}
		s.metrics.frameIn.Add(float64(len(f.Data)))
		if err := s.feeds.Publish(id, f); err != nil {
			return err
		}
	}
}

func readJSON(r *http.Request, v any) error {
	err := json.NewDecoder(r.Body).Decode(v)
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return big
	}
	if err != nil {
		return claudehub.WithCause(claudehub.Invalid, err, "That is not the JSON that belongs here.")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(b)
	return err
}
