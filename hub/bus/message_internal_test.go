package bus

import (
	"bytes"
	"testing"
)

// What a stranger on a shared server sends is refused or is what could have been packed.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01kdata"))
	f.Add([]byte("\xffk"))
	f.Add([]byte("\x03cut"))
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, data, err := unpack(b)
		if err != nil {
			return
		}
		again, err := pack(kind, data)
		if err != nil && len(b) <= MaxPayload {
			t.Fatalf("unpacked %q and cannot pack it: %v", kind, err)
		}
		if err == nil && !bytes.Equal(again, b) {
			t.Fatalf("%q became %q", b, again)
		}
	})
}
