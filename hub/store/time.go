package store

import "time"

// micros is a time as the database has it.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func at(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Round gives a time the precision that the database keeps, so that what is written equals what is read.
func Round(t time.Time) time.Time { return at(micros(t)) }
