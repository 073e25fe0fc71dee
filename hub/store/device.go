package store

import (
	"context"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// DeviceState is what became of a device's request.
type DeviceState string

// The states of a device. Pending becomes approved or denied, and approved becomes used when the device came for what it
// gets.
const (
	DevicePending  DeviceState = "pending"
	DeviceApproved DeviceState = "approved"
	DeviceDenied   DeviceState = "denied"
	DeviceUsed     DeviceState = "used"
)

// Device is one that waits for a person's approval, found by the hash of its code or by what the person types.
type Device struct {
	Hash     string
	UserCode string
	Client   wire.DeviceClient
	Name     string
	Machine  string
	Again    claudehub.RunnerID // that it says it was
	Address  string
	State    DeviceState
	Person   claudehub.PersonID // who approved
	Wait     time.Duration      // between two polls
	Polled   time.Time
	Created  time.Time
	Expires  time.Time
}

type deviceRow struct {
	Hash     string             `db:"hash"`
	UserCode string             `db:"user_code"`
	Client   wire.DeviceClient  `db:"client"`
	Name     string             `db:"name"`
	Machine  string             `db:"machine"`
	Again    claudehub.RunnerID `db:"again"`
	Address  string             `db:"address"`
	State    DeviceState        `db:"state"`
	Person   claudehub.PersonID `db:"person"`
	Wait     int64              `db:"wait"`
	Polled   int64              `db:"polled"`
	Created  int64              `db:"created"`
	Expires  int64              `db:"expires"`
}

const deviceColumns = `hash, user_code, client, name, machine, again, address, state, person, wait, polled, created, expires`

func (r deviceRow) device() Device {
	return Device{Hash: r.Hash, UserCode: r.UserCode, Client: r.Client, Name: r.Name, Machine: r.Machine, Again: r.Again,
		Address: r.Address, State: r.State, Person: r.Person, Wait: time.Duration(r.Wait) * time.Microsecond,
		Polled: at(r.Polled), Created: at(r.Created), Expires: at(r.Expires)}
}

// LockDevices keeps others from adding devices until the transaction ends: they are counted first. SQLite has one writer.
func (q Q) LockDevices(ctx context.Context) error {
	if q.row == "" {
		return nil
	}
	_, err := q.exec(ctx, `LOCK TABLE devices IN SHARE ROW EXCLUSIVE MODE`)
	return err
}

// OpenDevices counts those that still wait for a person: of one address, and all.
func (q Q) OpenDevices(ctx context.Context, address string, now time.Time) (of, all int, err error) {
	var n struct {
		Of  int `db:"n_of"`
		All int `db:"n_all"`
	}
	err = q.get(ctx, &n, `SELECT count(CASE WHEN address = ? THEN 1 END) AS n_of, count(*) AS n_all
		FROM devices WHERE state = 'pending' AND expires > ?`, address, micros(now))
	return n.Of, n.All, err
}

// AddDevice stores a device; Conflict when its user code is taken.
func (q Q) AddDevice(ctx context.Context, d Device) error {
	_, err := q.exec(ctx, `INSERT INTO devices (`+deviceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.Hash, d.UserCode, d.Client, d.Name, d.Machine, d.Again, d.Address, d.State, d.Person, d.Wait.Microseconds(),
		micros(d.Polled), micros(d.Created), micros(d.Expires))
	return err
}

// WaitingDevice finds a device that waits for a person, by what they type.
func (q Q) WaitingDevice(ctx context.Context, userCode string, now time.Time) (Device, error) {
	return q.oneDevice(ctx, `SELECT `+deviceColumns+` FROM devices WHERE user_code = ? AND state = 'pending' AND expires > ?`+q.row, userCode, micros(now))
}

// LockDevice finds a device by its code, and keeps other writers from it until the transaction ends.
func (q Q) LockDevice(ctx context.Context, hash string) (Device, error) {
	return q.oneDevice(ctx, `SELECT `+deviceColumns+` FROM devices WHERE hash = ?`+q.row, hash)
}

func (q Q) oneDevice(ctx context.Context, query string, args ...any) (Device, error) {
	var r deviceRow
	err := q.get(ctx, &r, query, args...)
	return r.device(), err
}

// AnswerDevice stores a person's yes, with the name that they gave it, or no; NotFound when it was answered before, or is
// over.
func (q Q) AnswerDevice(ctx context.Context, d Device, now time.Time) error {
	return q.must(ctx, `UPDATE devices SET state = ?, person = ?, name = ? WHERE hash = ? AND state = 'pending' AND expires > ?`,
		d.State, d.Person, d.Name, d.Hash, micros(now))
}

// SetPolled stores when a device asked, and how long it has to wait until it asks again.
func (q Q) SetPolled(ctx context.Context, d Device) error {
	return q.must(ctx, `UPDATE devices SET polled = ?, wait = ? WHERE hash = ?`, micros(d.Polled), d.Wait.Microseconds(), d.Hash)
}

// UseDevice uses an approval up: NotFound when it was used, or is over.
func (q Q) UseDevice(ctx context.Context, hash string, now time.Time) error {
	return q.must(ctx, `UPDATE devices SET state = 'used' WHERE hash = ? AND state = 'approved' AND expires > ?`, hash, micros(now))
}

// DeleteOldDevices forgets devices that expired before a time.
func (q Q) DeleteOldDevices(ctx context.Context, expired time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM devices WHERE expires < ?`, micros(expired))
	return err
}
