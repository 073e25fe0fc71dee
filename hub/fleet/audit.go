package fleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const (
	maxAudit     = 500 // entries in one answer
	auditListed  = 100 // without a limit
	auditRead    = 500 // entries that are read at once to export and to verify
	maxBroken    = 100 // that a report names; more are counted
	maxAuditText = 300 // bytes of one text in an entry
	maxDetails   = 20
)

// note writes into the audit log what was done, when the transaction commits and only then. The actor is the context's.
// No detail may be a secret.
func (f *Fleet) note(ctx context.Context, q store.Q, action, target string, detail map[string]string) error {
	return f.noteOutcome(ctx, q, claudehub.OutcomeOK, action, target, detail)
}

func (f *Fleet) noteOutcome(ctx context.Context, q store.Q, o claudehub.Outcome, action, target string, detail map[string]string) error {
	a := actorOf(ctx)
	if a.Kind == claudehub.ActorPerson && a.Login == "" {
		face, err := q.Face(ctx, claudehub.PersonID(a.ID))
		if err != nil && claudehub.CodeOf(err) != claudehub.NotFound {
			return err
		}
		a.Login = face.Login
	}
	return q.Note(claudehub.AuditEntry{At: f.now(), Kind: a.Kind, Actor: clip(a.ID, maxAuditText), Login: clip(a.Login, maxAuditText),
		Action: clip(action, maxAuditText), Target: clip(target, maxAuditText), Address: clip(a.Address, maxAddress), Outcome: o,
		Detail: tidyDetail(detail)})
}

// tidyDetail bounds what may come from a stranger.
func tidyDetail(detail map[string]string) map[string]string {
	if len(detail) == 0 {
		return nil
	}
	out := make(map[string]string, len(detail))
	for _, k := range slices.Sorted(maps.Keys(detail)) {
		if len(out) == maxDetails {
			break
		}
		out[clip(k, maxAuditText)] = clip(detail[k], maxAuditText)
	}
	return out
}

// AuditFilter chooses entries of the audit log; what is empty chooses all. Actor is an id or a login; an Action that ends
// with a dot stands for all that begin with it, as in "session.". Entries go back from Before, or from the newest.
type AuditFilter = store.AuditFilter

// AuditLog lists entries for an admin, the newest first.
func (f *Fleet) AuditLog(ctx context.Context, admin claudehub.Person, filter AuditFilter) ([]claudehub.AuditEntry, error) {
	if err := policy.Administer(admin); err != nil {
		return nil, err
	}
	if filter.Limit <= 0 {
		filter.Limit = auditListed
	}
	filter.Limit = min(filter.Limit, maxAudit)
	return f.st.Read().Audit(ctx, tidyFilter(filter))
}

// ExportAudit calls send with every entry that the filter chooses, in the order of the chain. Its limit does not count.
func (f *Fleet) ExportAudit(ctx context.Context, admin claudehub.Person, filter AuditFilter, send func(claudehub.AuditEntry) error) error {
	if err := policy.Administer(admin); err != nil {
		return err
	}
	return f.eachEntry(ctx, 0, tidyFilter(filter), send)
}

// tidyFilter: PostgreSQL takes neither broken UTF-8 nor NUL, not even to compare with.
func tidyFilter(f AuditFilter) AuditFilter {
	for _, s := range []*string{&f.Actor, &f.Action, &f.Target} {
		*s = clip(*s, maxAuditText)
	}
	return f
}

func (f *Fleet) eachEntry(ctx context.Context, after int64, filter AuditFilter, fn func(claudehub.AuditEntry) error) error {
	filter.Limit = auditRead
	for {
		batch, err := f.readAudit(ctx, after, filter)
		if err != nil || len(batch) == 0 {
			return err
		}
		for _, e := range batch {
			if err := fn(e); err != nil {
				return err
			}
		}
		after = batch[len(batch)-1].Seq
	}
}

func (f *Fleet) readAudit(ctx context.Context, after int64, filter AuditFilter) ([]claudehub.AuditEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	return f.st.Read().AuditAfter(ctx, after, filter)
}

// AuditHead names the end of the audit log at some time. Kept outside of the database, it shows that an end was cut off, or
// that the whole log was written anew.
type AuditHead struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// AuditHead is where the audit log ends now; zero when it is empty.
func (f *Fleet) AuditHead(ctx context.Context) (AuditHead, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	seq, hash, err := f.st.Read().AuditHead(ctx)
	return AuditHead{seq, hash}, err
}

// AuditReport is what VerifyAudit found.
type AuditReport struct {
	Rows   int64        `json:"rows"`
	First  time.Time    `json:"first,omitzero"`
	Last   time.Time    `json:"last,omitzero"`
	Head   AuditHead    `json:"head"`
	Broken []AuditBreak `json:"broken"`
	More   int          `json:"more"` // that Broken has no room for
}

// AuditBreak is a place where the audit log is not what was written.
type AuditBreak struct {
	Seq int64  `json:"seq"`
	Why string `json:"why"`
}

func (r *AuditReport) broken(seq int64, why string) {
	if len(r.Broken) == maxBroken {
		r.More++
		return
	}
	r.Broken = append(r.Broken, AuditBreak{seq, why})
}
