package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"claude-hub/internal/claudehub"
)

// The audit log is a chain: each row has the number after the one before, that row's hash, and a hash of its own that
// covers all of it. Notes of a transaction are kept aside and appended when it has done everything else. So the one lock
// that all who append share is each transaction's last one, which no two can wait for in a circle, and it is held for two
// statements and the commit.

// chainLock is PostgreSQL's: several Hubs append at once, and the second one has to see the row of the first. The number
// is the word "audit" in ASCII.
const chainLock = `SELECT pg_advisory_xact_lock(418581342580)`

// auditBatch is how many rows go into one INSERT: their parameters stay below every database's bound.
const auditBatch = 50

type auditRow struct {
	Seq     int64               `db:"seq"`
	At      int64               `db:"at"`
	Kind    claudehub.ActorKind `db:"actor_kind"`
	Actor   string              `db:"actor"`
	Login   string              `db:"login"`
	Action  string              `db:"action"`
	Target  string              `db:"target"`
	Address string              `db:"address"`
	Outcome claudehub.Outcome   `db:"outcome"`
	Detail  string              `db:"detail"`
	Prev    string              `db:"prev"`
	Hash    string              `db:"hash"`
}

const auditColumns = `seq, at, actor_kind, actor, login, action, target, address, outcome, detail, prev, hash`

// entry is the row as others see it. Details that cannot be read are shown as they are: the row's hash tells that somebody
// changed them.
func (r auditRow) entry() claudehub.AuditEntry {
	e := claudehub.AuditEntry{Seq: r.Seq, At: at(r.At), Kind: r.Kind, Actor: r.Actor, Login: r.Login, Action: r.Action,
		Target: r.Target, Address: r.Address, Outcome: r.Outcome, Prev: r.Prev, Hash: r.Hash}
	if err := decode(r.Detail, &e.Detail, "audit"); err != nil {
		e.Detail = map[string]string{"unreadable": r.Detail}
	}
	return e
}

// AuditHash is what the Hash of an entry has to be: SHA-256, in hexadecimal, over
//
//	"claude-hub audit 1\n"
//	Seq and At (microseconds since 1970), 8 bytes each, the highest first
//	Kind, Actor, Login, Action, Target, Address, Outcome
//	the number of details as 8 bytes, then each key and its value, in the order of the keys' bytes
//	Prev
//
// where each text is its length in bytes, as 8 bytes, and the bytes themselves. So no two entries have one encoding.
func AuditHash(e claudehub.AuditEntry) string {
	b := []byte("claude-hub audit 1\n")
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) } //nolint:gosec // the bits are what counts
	text := func(s string) { number(int64(len(s))); b = append(b, s...) }
	number(e.Seq)
	number(micros(e.At))
	for _, s := range []string{string(e.Kind), e.Actor, e.Login, e.Action, e.Target, e.Address, string(e.Outcome)} {
		text(s)
	}
	number(int64(len(e.Detail)))
	for _, k := range slices.Sorted(maps.Keys(e.Detail)) {
		text(k)
		text(e.Detail[k])
	}
	text(e.Prev)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Note adds an entry to the audit log when the transaction commits, and only then. Seq, Prev and Hash are made here.
func (q Q) Note(e claudehub.AuditEntry) error {
	if q.notes == nil {
		return claudehub.Errorf(claudehub.Internal, "The audit log is written in a transaction alone.")
	}
	*q.notes = append(*q.notes, e)
	return nil
}

func (q Q) appendNotes(ctx context.Context, chain string) error {
	notes := *q.notes
	if len(notes) == 0 {
		return nil
	}
	if chain != "" {
		if _, err := q.exec(ctx, chain); err != nil {
			return err
		}
	}
	seq, hash, err := q.AuditHead(ctx)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(notes, auditBatch) {
		rows := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", len(batch)), ", ")
		var args []any
		for _, e := range batch {
			seq++
			e.Seq, e.Prev, e.At = seq, hash, Round(e.At)
			e.Hash = AuditHash(e)
			hash = e.Hash
			detail, err := encode(e.Detail)
			if err != nil {
				return err
			}
			args = append(args, e.Seq, micros(e.At), e.Kind, e.Actor, e.Login, e.Action, e.Target, e.Address, e.Outcome, detail, e.Prev, e.Hash)
		}
		if _, err := q.exec(ctx, `INSERT INTO audit (`+auditColumns+`) VALUES `+rows, args...); err != nil {
			return err
		}
	}
	return nil
}

// AuditHead is the last entry's number and hash; 0 and "" when there is none.
func (q Q) AuditHead(ctx context.Context) (seq int64, hash string, err error) {
	var r struct {
		Seq  int64  `db:"seq"`
		Hash string `db:"hash"`
	}
	err = q.get(ctx, &r, `SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		err = nil
	}
	return r.Seq, r.Hash, err
}

// AuditFilter chooses entries; what is empty chooses all. Actor is an id or a login; an Action that ends with a dot stands
// for all that begin with it. From is the first moment, To the one after the last.
type AuditFilter struct {
	Actor, Action, Target string
	From, To              time.Time
	Before                int64 // entries with a smaller number
	Limit                 int
}

func (f AuditFilter) where() (string, []any) {
	var parts []string
	var args []any
	add := func(s string, a ...any) { parts, args = append(parts, s), append(args, a...) }
	if f.Actor != "" {
		add(`(actor = ? OR login = ?)`, f.Actor, f.Actor)
	}
	switch {
	case strings.HasSuffix(f.Action, "."):
		add(`substr(action, 1, ?) = ?`, utf8.RuneCountInString(f.Action), f.Action)
	case f.Action != "":
		add(`action = ?`, f.Action)
	}
	if f.Target != "" {
		add(`target = ?`, f.Target)
	}
	if !f.From.IsZero() {
		add(`at >= ?`, micros(f.From))
	}
	if !f.To.IsZero() {
		add(`at < ?`, micros(f.To))
	}
	if f.Before > 0 {
		add(`seq < ?`, f.Before)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return ` AND ` + strings.Join(parts, ` AND `), args
}

// Audit lists the newest entries that a filter chooses, the newest first.
func (q Q) Audit(ctx context.Context, f AuditFilter) ([]claudehub.AuditEntry, error) {
	where, args := f.where()
	return q.manyAudit(ctx, `SELECT `+auditColumns+` FROM audit WHERE seq > 0`+where+` ORDER BY seq DESC LIMIT ?`, append(args, f.Limit)...)
}

// AuditAfter lists up to Limit entries that a filter chooses, after a number, in their order.
func (q Q) AuditAfter(ctx context.Context, seq int64, f AuditFilter) ([]claudehub.AuditEntry, error) {
	where, args := f.where()
	args = append(append([]any{seq}, args...), f.Limit)
	return q.manyAudit(ctx, `SELECT `+auditColumns+` FROM audit WHERE seq > ?`+where+` ORDER BY seq LIMIT ?`, args...)
}

func (q Q) manyAudit(ctx context.Context, query string, args ...any) ([]claudehub.AuditEntry, error) {
	var rows []auditRow
	err := q.all(ctx, &rows, query, args...)
	return convert(rows, auditRow.entry), err
}
