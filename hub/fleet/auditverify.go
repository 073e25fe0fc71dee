package fleet

import (
	"context"
	"fmt"
	"math"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// VerifyAudit reads the whole audit log and reports every place where the chain is broken: a line that was changed, is
// missing or stands elsewhere. With heads that were kept outside of the database, it also reports a log whose end was cut
// off, or that was written anew from some line on.
func (f *Fleet) VerifyAudit(ctx context.Context, kept ...AuditHead) (AuditReport, error) {
	r := AuditReport{Broken: []AuditBreak{}}
	hashes := map[int64]string{} // of the lines that a kept head names
	for _, h := range kept {
		hashes[h.Seq] = ""
	}
	var last claudehub.AuditEntry
	err := f.eachEntry(ctx, math.MinInt64, AuditFilter{}, func(e claudehub.AuditEntry) error {
		r.link(last, e)
		if _, asked := hashes[e.Seq]; asked {
			hashes[e.Seq] = e.Hash
		}
		last = e
		return nil
	})
	if err != nil {
		return AuditReport{}, err
	}
	r.Head = AuditHead{last.Seq, last.Hash}
	for _, h := range kept {
		switch {
		case h.Seq == 0:
		case h.Seq > last.Seq:
			r.broken(last.Seq, fmt.Sprintf("The log ends here, and it had a line %d: the end is cut off, or the database was restored from an older backup.", h.Seq))
		case !sameHash(hashes[h.Seq], h.Hash):
			r.broken(h.Seq, "This is not the line that the Hub had here: the log was written anew.")
		}
	}
	return r, nil
}

// link looks at one line and the one before it.
func (r *AuditReport) link(last, e claudehub.AuditEntry) {
	if r.Rows == 0 {
		r.First = e.At
	}
	r.Rows++
	r.Last = e.At
	switch {
	case e.Seq <= 0:
		r.broken(e.Seq, "No line has such a number: it was not written by a Hub.")
		return
	case e.Seq != max(last.Seq, 0)+1:
		r.broken(e.Seq, fmt.Sprintf("The lines %d to %d are missing.", max(last.Seq, 0)+1, e.Seq-1))
	case !sameHash(e.Prev, last.Hash):
		r.broken(e.Seq, "The line does not follow the one before it: one of the two was changed or put in another place.")
	}
	if !sameHash(e.Hash, store.AuditHash(e)) {
		r.broken(e.Seq, "The line was changed.")
	}
}
