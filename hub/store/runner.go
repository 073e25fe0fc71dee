package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"claude-hub/internal/claudehub"
)

// Runner is a Runner with what only the Hub knows of it.
type Runner struct {
	claudehub.Runner
	// Seq is the number of the last change of desired state of any of its Sessions, or of its machine.
	Seq int64
	// MachineSeq is the number of the last change of what is desired of its machine.
	MachineSeq int64
	// ReclaimWhat are the kinds of thing that the last Reclaim asks to remove.
	ReclaimWhat []string
	Lease       Lease
}

// Lease says which process is the Runner. It stays written when it ended, so that the last holder is known.
type Lease struct {
	Instance string // of the Runner process
	Host     string
	Hub      string // of the Hub process that has the stream
	Since    time.Time
	Renewed  time.Time
}

type runnerRow struct {
	ID        claudehub.RunnerID  `db:"id"`
	Owner     claudehub.PersonID  `db:"owner"`
	Name      string              `db:"name"`
	Seq       int64               `db:"seq"`
	Machine   string              `db:"machine"`
	LinkState claudehub.LinkState `db:"link_state"`
	LinkSince int64               `db:"link_since"`
	Instance  string              `db:"lease_instance"`
	Host      string              `db:"lease_host"`
	Hub       string              `db:"lease_hub"`
	Since     int64               `db:"lease_since"`
	Renewed   int64               `db:"lease_renewed"`
	Created   int64               `db:"created"`

	Reclaim     int64  `db:"reclaim"`
	ReclaimWhat string `db:"reclaim_what"`
	MachineSeq  int64  `db:"machine_seq"`

	Revoked  int64  `db:"revoked"`
	LastUsed int64  `db:"last_used"`
	Address  string `db:"address"`
}

const runnerColumns = `id, owner, name, seq, machine, link_state, link_since,
	lease_instance, lease_host, lease_hub, lease_since, lease_renewed, created, reclaim, reclaim_what, machine_seq,
	revoked, last_used, address`

func (r runnerRow) runner() (Runner, error) {
	out := Runner{
		Runner: claudehub.Runner{ID: r.ID, Owner: r.Owner, Name: r.Name, Created: at(r.Created),
			Link: claudehub.Link{State: r.LinkState, Since: at(r.LinkSince)}, Reclaim: r.Reclaim,
			Revoked: at(r.Revoked), LastUsed: at(r.LastUsed), Address: r.Address},
		Seq: r.Seq, MachineSeq: r.MachineSeq,
		Lease: Lease{Instance: r.Instance, Host: r.Host, Hub: r.Hub,
			Since: at(r.Since), Renewed: at(r.Renewed)},
	}
	if err := decode(r.ReclaimWhat, &out.ReclaimWhat, "runner "+string(r.ID)); err != nil {
		return out, err
	}
	return out, decode(r.Machine, &out.Machine, "runner "+string(r.ID))
}

// SetReclaim stores what was asked to be removed from a Runner's disk.
func (q Q) SetReclaim(ctx context.Context, r Runner) error {
	what, err := encode(r.ReclaimWhat)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE runners SET reclaim = ?, reclaim_what = ? WHERE id = ?`, r.Reclaim, what, r.ID)
}

// NextMachineSeq takes the next number of a Runner's desired log for what is desired of its machine.
func (q Q) NextMachineSeq(ctx context.Context, id claudehub.RunnerID) (int64, error) {
	var seq int64
	err := q.get(ctx, &seq, `UPDATE runners SET seq = seq + 1, machine_seq = seq + 1 WHERE id = ? RETURNING seq`, id)
	return seq, err
}

// AddRunner stores a Runner; Conflict when its owner has one of that name.
func (q Q) AddRunner(ctx context.Context, r claudehub.Runner, tokenHash string) error {
	machine, err := encode(r.Machine)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO runners (id, owner, name, token_hash, machine, link_state, link_since, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Owner, r.Name, tokenHash, machine, r.Link.State, micros(r.Link.Since), micros(r.Created))
	return err
}

// Runner finds a Runner.
func (q Q) Runner(ctx context.Context, id claudehub.RunnerID) (Runner, error) {
	return q.oneRunner(ctx, `SELECT `+runnerColumns+` FROM runners WHERE id = ?`, id)
}

// LockRunner finds a Runner and keeps other writers from it, and so from its Sessions, until the transaction ends.
func (q Q) LockRunner(ctx context.Context, id claudehub.RunnerID) (Runner, error) {
	return q.oneRunner(ctx, `SELECT `+runnerColumns+` FROM runners WHERE id = ?`+q.row, id)
}

// RunnerByName finds one of a person's Runners.
func (q Q) RunnerByName(ctx context.Context, owner claudehub.PersonID, name string) (Runner, error) {
	return q.oneRunner(ctx, `SELECT `+runnerColumns+` FROM runners WHERE owner = ? AND name = ?`, owner, name)
}

func (q Q) oneRunner(ctx context.Context, query string, args ...any) (Runner, error) {
	var r runnerRow
	if err := q.get(ctx, &r, query, args...); err != nil {
		return Runner{}, err
	}
	return r.runner()
}

// Runners lists a person's Runners by name.
func (q Q) Runners(ctx context.Context, owner claudehub.PersonID) ([]Runner, error) {
	return q.manyRunners(ctx, `SELECT `+runnerColumns+` FROM runners WHERE owner = ? ORDER BY name, id`, owner)
}

// AllRunners lists everybody's Runners by their owners' logins, and by name.
func (q Q) AllRunners(ctx context.Context) ([]Runner, error) {
	return q.manyRunners(ctx, `SELECT `+runnerColumns+` FROM runners
		ORDER BY (SELECT lower(login) FROM people WHERE people.id = runners.owner), owner, name, id`)
}

// LinkedRunners lists the Runners whose link is written as up.
func (q Q) LinkedRunners(ctx context.Context) ([]Runner, error) {
	return q.manyRunners(ctx, `SELECT `+runnerColumns+` FROM runners WHERE link_state = ? ORDER BY id`, claudehub.LinkUp)
}

func (q Q) manyRunners(ctx context.Context, query string, args ...any) ([]Runner, error) {
	var rows []runnerRow
	if err := q.all(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	return convertAll(rows, runnerRow.runner)
}

// SetRunnerName renames a Runner; Conflict when its owner has one of that name.
func (q Q) SetRunnerName(ctx context.Context, id claudehub.RunnerID, name string) error {
	return q.must(ctx, `UPDATE runners SET name = ? WHERE id = ?`, name, id)
}

// SetMachine stores what a Runner said of its machine.
func (q Q) SetMachine(ctx context.Context, id claudehub.RunnerID, m claudehub.Machine) error {
	machine, err := encode(m)
	if err != nil {
		return err
	}
	return q.must(ctx, `UPDATE runners SET machine = ? WHERE id = ?`, machine, id)
}

// SetLink stores a Runner's link and lease together: the one follows from the other.
func (q Q) SetLink(ctx context.Context, id claudehub.RunnerID, link claudehub.Link, l Lease) error {
	return q.must(ctx, `UPDATE runners SET link_state = ?, link_since = ?,
		lease_instance = ?, lease_host = ?, lease_hub = ?, lease_since = ?, lease_renewed = ? WHERE id = ?`,
		link.State, micros(link.Since), l.Instance, l.Host, l.Hub, micros(l.Since), micros(l.Renewed), id)
}

// RenewLeases moves the time of all live leases of one Hub process forward: one write, however many Runners it has. It
// takes them in the order in which others take several, so that they wait for each other in one direction alone.
func (q Q) RenewLeases(ctx context.Context, hub string, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE runners SET lease_renewed = ? WHERE id IN
		(SELECT id FROM runners WHERE lease_hub = ? AND link_state = ? ORDER BY id`+q.row+`)`,
		micros(now), hub, claudehub.LinkUp)
	return err
}

// NextSeq takes the next number of a Runner's desired log.
func (q Q) NextSeq(ctx context.Context, id claudehub.RunnerID) (int64, error) {
	var seq int64
	err := q.get(ctx, &seq, `UPDATE runners SET seq = seq + 1 WHERE id = ? RETURNING seq`, id)
	return seq, err
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode for the database: %w", err)
	}
	return string(b), nil
}

func decode(s string, v any, what string) error {
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return claudehub.WithCause(claudehub.Internal, err, "The Hub's database holds something unreadable (%s).", what)
	}
	return nil
}
