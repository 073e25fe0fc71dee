package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// FrameKind says what a Frame's Data is.
type FrameKind byte

// The kinds of record in a screen upload; the browser gets the first two, as they are.
const (
	FrameSnapshot FrameKind = 1 // Data redraws a whole terminal of Cols × Rows
	FrameDelta    FrameKind = 2 // Data is the output that follows Seq
	FrameReport   FrameKind = 3 // Data is an InputReport in JSON
)

// Frame is a piece of one terminal's output. Seq counts output bytes since the start of Life: a delta that begins at Seq
// ends at Seq+len(Data); a snapshot shows the screen as it is at Seq.
type Frame struct {
	Kind FrameKind
	// Fresh marks a snapshot that every viewer must take: the size changed, output was dropped, or a new Life began.
	Fresh bool
	Life  string // 26 characters; a new one each time the terminal is started
	Seq   uint64
	Cols  uint16
	Rows  uint16
	Data  []byte
}

// MaxFrame bounds a Frame's Data. It and its header fit in one bus message of 1 MiB.
const MaxFrame = 768 << 10

// LifeLen is the length of Frame.Life, a claudehub.NewNonce.
const LifeLen = 26

// FrameHeader is how many bytes of a Frame's encoding come before its Data.
const FrameHeader = 1 + 1 + LifeLen + 8 + 2 + 2 + 4

var (
	errFrameLife = errors.New("frame: life must have 26 characters")
	errFrameSize = fmt.Errorf("frame: more than %d bytes", MaxFrame)
	errFrameKind = errors.New("frame: unknown kind")
)

// AppendFrame appends a Frame's encoding: kind, flags (1: fresh), life, seq, cols, rows, length, all big-endian, then
// the data.
func AppendFrame(b []byte, f Frame) ([]byte, error) {
	switch {
	case len(f.Life) != LifeLen:
		return b, errFrameLife
	case len(f.Data) > MaxFrame:
		return b, errFrameSize
	case f.Kind < FrameSnapshot || f.Kind > FrameReport:
		return b, errFrameKind
	}
	var flags byte
	if f.Fresh {
		flags = 1
	}
	b = append(b, byte(f.Kind), flags)
	b = append(b, f.Life...)
	b = binary.BigEndian.AppendUint64(b, f.Seq)
	b = binary.BigEndian.AppendUint16(b, f.Cols)
	b = binary.BigEndian.AppendUint16(b, f.Rows)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Data)))
	return append(b, f.Data...), nil
}

// ReadFrame reads one Frame. At a clean end it returns io.EOF; cut in the middle, io.ErrUnexpectedEOF.
func ReadFrame(r io.Reader) (Frame, error) {
	var h [FrameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{
		Kind:  FrameKind(h[0]),
		Fresh: h[1]&1 != 0,
		Life:  string(h[2 : 2+LifeLen]),
		Seq:   binary.BigEndian.Uint64(h[2+LifeLen:]),
		Cols:  binary.BigEndian.Uint16(h[10+LifeLen:]),
		Rows:  binary.BigEndian.Uint16(h[12+LifeLen:]),
	}
	n := binary.BigEndian.Uint32(h[14+LifeLen:])
	if f.Kind < FrameSnapshot || f.Kind > FrameReport {
		return Frame{}, errFrameKind
	}
	if n > MaxFrame {
		return Frame{}, errFrameSize
	}
	f.Data = make([]byte, n)
	if _, err := io.ReadFull(r, f.Data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return f, nil
}
