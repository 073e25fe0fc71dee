package secret

import "bytes"

// The check is something known, sealed: a keyset that does not open it is not the one that the database's values were
// sealed with.
var (
	checkPlace = Place{Scope: "check"}
	checkValue = []byte("the keyset of this database")
)

// Check seals what IsOf asks for.
func (b *Box) Check() ([]byte, error) { return b.Seal(checkValue, checkPlace) }

// IsOf tells whether a check was sealed with this keyset.
func (b *Box) IsOf(check []byte) bool {
	value, err := b.Open(check, checkPlace)
	return err == nil && bytes.Equal(value, checkValue)
}
