package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"claude-hub/hub"
	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Look whether the log is whole: no line changed, missing, or cut off since the Hub last noted its end."`
	Export auditExportCmd `cmd:"" help:"Print the log, a JSON object on each line, the oldest first."`
}

type auditVerifyCmd struct {
	hub.Store
	asJSON
}

// Run says how much there is, and fails at the first line that is not what was written.
func (c *auditVerifyCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	a, err := hub.OpenAdmin(ctx, c.Store, log)
	if err != nil {
		return err
	}
	defer a.Close()
	r, err := a.VerifyAudit(ctx) // all of a log of years: as long as it takes, or is waited for
	if err != nil {
		return err
	}
	err = c.print(out, r, func() {
		fmt.Fprintf(out, "Rows:  %d\n", r.Rows)
		if r.Rows > 0 {
			fmt.Fprintf(out, "First: %s\nLast:  %s\n", r.First.UTC().Format(time.RFC3339), r.Last.UTC().Format(time.RFC3339))
		}
		for _, b := range r.Broken {
			fmt.Fprintf(out, "Line %d: %s\n", b.Seq, b.Why)
		}
		if r.More > 0 {
			fmt.Fprintf(out, "And %d more.\n", r.More)
		}
		if len(r.Broken) == 0 {
			fmt.Fprintln(out, "The audit log is whole.")
		}
	})
	if err != nil || len(r.Broken) == 0 {
		return err
	}
	return claudehub.Errorf(claudehub.Conflict, "The audit log is not what was written, from line %d on: %s", r.Broken[0].Seq, r.Broken[0].Why)
}

type auditExportCmd struct {
	hub.Store
	Actor  string    `help:"What this person or Runner did: an id or a login."`
	Action string    `help:"What was done: session.share, or session. for all that begins so."`
	Target string    `help:"The id of what it was done to."`
	From   time.Time `help:"The first moment, as 2026-12-31T00:00:00Z." placeholder:"TIME"`
	To     time.Time `help:"The moment after the last." placeholder:"TIME"`
	JSON   bool      `name:"json" help:"Print JSON, which it does anyway."`
}

// Run writes one line for each entry.
func (c *auditExportCmd) Run(ctx context.Context, out output, log *slog.Logger) error {
	a, err := hub.OpenAdmin(ctx, c.Store, log)
	if err != nil {
		return err
	}
	defer a.Close()
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	filter := fleet.AuditFilter{Actor: c.Actor, Action: c.Action, Target: c.Target, From: c.From, To: c.To}
	if err := a.ExportAudit(ctx, filter, func(e claudehub.AuditEntry) error { return enc.Encode(e) }); err != nil {
		return err
	}
	return w.Flush()
}
