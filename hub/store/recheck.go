package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
)

// Claim is one Hub's right to ask GitHub about a person. It is over at Until; what it found out is stored only while it
// is still the person's claim, so that a Hub that slept for long changes nothing.
type Claim struct {
	Person claudehub.PersonID
	GitHub int64
	Until  time.Time
}

// DuePeople lists who was last asked about before a time, has something that opens the Hub, and is claimed by nobody; who
// waits longest comes first.
func (q Q) DuePeople(ctx context.Context, checked, now time.Time, most int) ([]claudehub.Person, error) {
	var rows []personRow
	err := q.all(ctx, &rows, `SELECT `+personColumns+` FROM people p WHERE github <> 0 AND `+active+` AND checked <= ? AND claimed <= ? AND (
		EXISTS (SELECT 1 FROM sign_ins s WHERE s.person = p.id) OR
		EXISTS (SELECT 1 FROM api_tokens t WHERE t.person = p.id) OR
		EXISTS (SELECT 1 FROM runners r WHERE r.owner = p.id AND r.revoked = 0))
		ORDER BY checked, id LIMIT ?`, micros(checked), micros(now), most)
	return convert(rows, personRow.person), err
}

// ClaimPerson takes a person for one Hub to ask about; NotFound when another one was first.
func (q Q) ClaimPerson(ctx context.Context, p claudehub.Person, checked, now, until time.Time) (Claim, error) {
	err := q.must(ctx, `UPDATE people SET claimed = ? WHERE id = ? AND `+active+` AND checked <= ? AND claimed <= ?`,
		micros(until), p.ID, micros(checked), micros(now))
	return Claim{Person: p.ID, GitHub: p.GitHub, Until: until}, err
}

// EndClaim stores that a person was asked about; NotFound when the claim is no longer theirs.
func (q Q) EndClaim(ctx context.Context, c Claim, checked time.Time) error {
	return q.must(ctx, `UPDATE people SET checked = ?, claimed = 0 WHERE id = ? AND claimed = ?`, micros(checked), c.Person, micros(c.Until))
}

// PutOffClaim keeps everybody from asking about a person until a time; NotFound when the claim is no longer theirs.
func (q Q) PutOffClaim(ctx context.Context, c Claim, until time.Time) error {
	return q.must(ctx, `UPDATE people SET claimed = ? WHERE id = ? AND claimed = ?`, micros(until), c.Person, micros(c.Until))
}

// KeepClaimed stores a renewed GitHub token, sealed; NotFound when the claim is no longer theirs.
func (q Q) KeepClaimed(ctx context.Context, c Claim, sealed []byte) error {
	return q.must(ctx, `UPDATE people SET credential = ? WHERE id = ? AND claimed = ?`, sealed, c.Person, micros(c.Until))
}

// SetChecked stores a person's GitHub token, sealed, and that GitHub was asked just now. Every claim is over.
func (q Q) SetChecked(ctx context.Context, id claudehub.PersonID, sealed []byte, now time.Time) error {
	return q.must(ctx, `UPDATE people SET credential = ?, checked = ?, claimed = 0 WHERE id = ?`, sealed, micros(now), id)
}

// Credential is a person's GitHub token, sealed; nothing when the Hub has none.
func (q Q) Credential(ctx context.Context, id claudehub.PersonID) ([]byte, error) {
	var sealed []byte
	err := q.get(ctx, &sealed, `SELECT credential FROM people WHERE id = ?`, id)
	return sealed, err
}

// Credential is one person's GitHub token, sealed.
type Credential struct {
	Person claudehub.PersonID `db:"id"`
	Sealed []byte             `db:"credential"`
}

// AllCredentials lists every GitHub token of the database, for sealing them anew. They stay as they are until the
// transaction ends.
func (q Q) AllCredentials(ctx context.Context) ([]Credential, error) {
	var out []Credential
	err := q.all(ctx, &out, `SELECT id, credential FROM people WHERE credential IS NOT NULL ORDER BY id`+q.row)
	return out, err
}

// SetCredential stores the same token sealed anew.
func (q Q) SetCredential(ctx context.Context, c Credential) error {
	return q.must(ctx, `UPDATE people SET credential = ? WHERE id = ?`, c.Sealed, c.Person)
}
