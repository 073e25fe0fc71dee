package hub

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

const (
	// headFile keeps the end of the audit log outside of the database, so that an end that was cut off shows.
	headFile  = "audit-head"
	headEvery = time.Minute
	headLimit = 10 * time.Second
)

// operator asks for the audit log beside the Hub: who can read the database needs no more right than that.
var operator = claudehub.Person{ID: "operator", Login: "operator", Role: claudehub.RoleAdmin}

// headKeeper writes the head of the audit log down, as long as the log goes on from the head that is there.
type headKeeper struct {
	fleet *fleet.Fleet
	path  string
	log   *slog.Logger
	kept  fleet.AuditHead
	off   bool // the log does not go on from what was kept: that stays, as evidence
}

func newHeadKeeper(f *fleet.Fleet, dir string, log *slog.Logger) *headKeeper {
	return &headKeeper{fleet: f, path: filepath.Join(dir, headFile), log: log}
}

// run keeps the head until ctx ends, and once more then.
func (h *headKeeper) run(ctx context.Context) error {
	h.begin(ctx)
	tick := time.NewTicker(headEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			h.keep(context.WithoutCancel(ctx))
			return nil
		case <-tick.C:
			h.keep(ctx)
		}
	}
}

// begin compares the log with the head that an earlier run left.
func (h *headKeeper) begin(ctx context.Context) {
	kept, err := readHead(h.path)
	if err != nil {
		h.refuse(err)
		return
	}
	h.kept = kept
	h.keep(ctx)
}

func (h *headKeeper) refuse(err error) {
	h.off = true
	h.log.Error("the audit log is not what it was: run `claude-hub audit verify`, and keep the file", "file", h.path, "err", err)
}

// keep never gives up: what fails now is tried at the next tick.
func (h *headKeeper) keep(ctx context.Context) {
	if h.off {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, headLimit)
	defer cancel()
	now, err := h.fleet.AuditHead(ctx)
	if err != nil {
		h.log.Warn("the head of the audit log cannot be read", "err", err)
		return
	}
	if now == h.kept {
		return
	}
	switch on, err := h.goesOn(ctx, now); {
	case err != nil:
		h.log.Warn("the audit log cannot be compared with its head", "err", err)
		return
	case !on:
		h.refuse(errors.New("its lines up to the head that was kept were cut off or written anew"))
		return
	}
	b, err := json.Marshal(now)
	if err == nil {
		err = writeWhole(h.path, append(b, '\n'))
	}
	if err != nil {
		h.log.Error("the head of the audit log is not kept", "file", h.path, "err", err)
		return
	}
	h.kept = now
}

// goesOn tells whether the line that was the last one is there still, as it was.
func (h *headKeeper) goesOn(ctx context.Context, now fleet.AuditHead) (bool, error) {
	if h.kept.Seq == 0 {
		return true, nil
	}
	if now.Seq < h.kept.Seq {
		return false, nil
	}
	line, err := h.fleet.AuditLog(ctx, operator, fleet.AuditFilter{Before: h.kept.Seq + 1, Limit: 1})
	if err != nil {
		return false, err
	}
	return len(line) == 1 && line[0].Seq == h.kept.Seq && line[0].Hash == h.kept.Hash, nil
}

// readHead reads what was kept; zero when nothing was.
func readHead(path string) (fleet.AuditHead, error) {
	var h fleet.AuditHead
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err == nil && (h.Seq < 0 || h.Seq > 0 && h.Hash == "") {
		err = errors.New("it names no line")
	}
	if err != nil {
		return fleet.AuditHead{}, claudehub.WithCause(claudehub.Invalid, err, "The file %s, which keeps the head of the audit log, cannot be read.", path)
	}
	return h, nil
}

// VerifyAudit looks whether the audit log is what was written: each line with the one before it, and all of it with the
// head that a Hub kept in the data directory.
func (a *Admin) VerifyAudit(ctx context.Context) (fleet.AuditReport, error) {
	kept, err := readHead(filepath.Join(a.cfg.Data, headFile))
	if err != nil {
		return fleet.AuditReport{}, err
	}
	return a.parts.fleet.VerifyAudit(ctx, kept)
}

// ExportAudit gives every line of the audit log, in order.
func (a *Admin) ExportAudit(ctx context.Context, filter fleet.AuditFilter, send func(claudehub.AuditEntry) error) error {
	return a.parts.fleet.ExportAudit(ctx, operator, filter, send)
}
