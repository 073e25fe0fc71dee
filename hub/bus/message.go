package bus

import (
	"errors"

	"claude-hub/internal/claudehub"
)

// MaxPayload bounds one message, its kind included.
const MaxPayload = 1 << 20

// Cut is the kind of a subscriber's last message when it was cut off: it fell behind, or the connection broke.
const Cut = "cut"

var errMalformed = errors.New("bus: malformed message")

// A message on the wire is the length of its kind in one byte, the kind, and the data.
func pack(kind string, data []byte) ([]byte, error) {
	if kind == "" || len(kind) > 255 || kind == Cut {
		return nil, errMalformed
	}
	if 1+len(kind)+len(data) > MaxPayload {
		return nil, claudehub.Errorf(claudehub.TooLarge, "That is too much to send in one piece: %d KB. At most %d KB fit.",
			len(data)>>10, (MaxPayload-256)>>10)
	}
	b := make([]byte, 0, 1+len(kind)+len(data))
	b = append(b, byte(len(kind)))
	b = append(b, kind...)
	return append(b, data...), nil
}

func unpack(b []byte) (kind string, data []byte, err error) {
	if len(b) == 0 || b[0] == 0 || len(b) < 1+int(b[0]) {
		return "", nil, errMalformed
	}
	n := 1 + int(b[0])
	kind = string(b[1:n])
	if kind == Cut {
		return "", nil, errMalformed
	}
	return kind, b[n:], nil
}
