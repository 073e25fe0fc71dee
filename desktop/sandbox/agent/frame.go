package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
)

// generation is the version of the protocol that we speak.
const generation = 7

const (
	maxFrame    = 4 << 20 // what len may say
	frameHeader = 5       // id and flags, counted by len
	// chunk is how much output or input we put in one frame.
	chunk = 64 << 10
)

// The flags of a frame.
const (
	flagTerminal = 1 // the last of its id
	flagStart    = 2 // the first of its id
	flagShutdown = 4
	flagBulk     = 8 // the body is raw and not CBOR; we never ask for those
)

// The types of message that we send or understand.
const (
	typeReady      = "core.ready"
	typePing       = "core.ping"
	typePong       = "core.pong"
	typeError      = "core.error"
	typeShutdown   = "core.shutdown"
	typeRequest    = "core.exec.request"
	typeStarted    = "core.exec.started"
	typeStdin      = "core.exec.stdin"
	typeStdinError = "core.exec.stdin.error"
	typeStdout     = "core.exec.stdout"
	typeStderr     = "core.exec.stderr"
	typeResize     = "core.exec.resize"
	typeSignal     = "core.exec.signal"
	typeExited     = "core.exec.exited"
	typeFailed     = "core.exec.failed"

	typeConnect       = "core.tcp.connect"
	typeConnected     = "core.tcp.connected"
	typeConnectFailed = "core.tcp.failed"
	typeTCPData       = "core.tcp.data"
	typeTCPEOF        = "core.tcp.eof"
	typeTCPClose      = "core.tcp.close"
	typeTCPClosed     = "core.tcp.closed"

	// typeUsage is ours alone.
	typeUsage = "hub.usage"
)

// frame is one message as it came, its payload not yet read.
type frame struct {
	id      uint32
	flags   uint8
	kind    string
	payload []byte
}

type envelope struct {
	V uint64 `cbor:"v"`
	T string `cbor:"t"`
	P []byte `cbor:"p"`
}

type (
	ready struct {
		AgentVersion string `cbor:"agent_version"`
	}
	request struct {
		Cmd  string   `cbor:"cmd"`
		Args []string `cbor:"args"`
		Env  []string `cbor:"env"`
		Cwd  *string  `cbor:"cwd"`
		User *string  `cbor:"user"`
		TTY  bool     `cbor:"tty"`
		Rows uint16   `cbor:"rows"`
		Cols uint16   `cbor:"cols"`
	}
	started struct {
		Pid int `cbor:"pid"`
	}
	data struct {
		Data []byte `cbor:"data"`
	}
	resize struct {
		Rows uint16 `cbor:"rows"`
		Cols uint16 `cbor:"cols"`
	}
	signalled struct {
		Signal int `cbor:"signal"`
	}
	exited struct {
		Code int `cbor:"code"`
	}
	failed struct {
		Kind      string `cbor:"kind"`
		Errno     *int   `cbor:"errno"`
		ErrnoName string `cbor:"errno_name"`
		Message   string `cbor:"message"`
		Stage     string `cbor:"stage"`
	}
	wrong struct {
		Kind    string `cbor:"kind"`
		Message string `cbor:"message"`
	}
	connect struct {
		Host string `cbor:"host"`
		Port uint16 `cbor:"port"`
	}
	connectFailed struct {
		Error string `cbor:"error"`
	}
	nothing struct{}
)

var (
	// encoder writes a nil slice as an empty one: the far end takes null for a broken message and forgets its process.
	encoder = must(cbor.EncOptions{NilContainers: cbor.NilContainerAsEmpty}.EncMode())
	decoder = must(cbor.DecOptions{
		MaxNestedLevels: 8, MaxArrayElements: 1 << 16, MaxMapPairs: 64, IndefLength: cbor.IndefLengthAllowed,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options above are constants
	}
	return v
}

var errFrame = errors.New("malformed frame")

// appendFrame puts one message behind b.
func appendFrame(b []byte, id uint32, flags uint8, kind string, payload any) ([]byte, error) {
	p, err := encoder.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	body, err := encoder.Marshal(envelope{V: generation, T: kind, P: p})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	size := frameHeader + len(body)
	if size > maxFrame {
		return nil, fmt.Errorf("encode %s: %d bytes are more than a frame holds", kind, size)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint32(b, id)
	b = append(b, flags)
	return append(b, body...), nil
}

// frameReader reads frames, and reuses its buffer: what decode returns is a copy.
type frameReader struct {
	r   io.Reader
	buf []byte
}

// next returns the next frame; io.EOF at a clean end, io.ErrUnexpectedEOF within a frame.
func (f *frameReader) next() (frame, error) {
	var head [4 + frameHeader]byte
	if _, err := io.ReadFull(f.r, head[:4]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if size < frameHeader || size > maxFrame {
		return frame{}, fmt.Errorf("%w: length %d", errFrame, size)
	}
	if _, err := io.ReadFull(f.r, head[4:]); err != nil {
		return frame{}, unexpected(err)
	}
	body, err := f.body(int(size) - frameHeader)
	if err != nil {
		return frame{}, unexpected(err)
	}
	fr := frame{id: binary.BigEndian.Uint32(head[4:]), flags: head[8]}
	if fr.flags&flagBulk != 0 {
		return fr, nil // no type: whoever looks at it drops it
	}
	var e envelope
	if err := decoder.Unmarshal(body, &e); err != nil {
		return frame{}, fmt.Errorf("%w: %w", errFrame, err)
	}
	fr.kind, fr.payload = e.T, e.P
	return fr, nil
}

// body reads n bytes. The buffer grows with what arrives, never with what was announced.
func (f *frameReader) body(n int) ([]byte, error) {
	for have := 0; have < n; {
		if have == len(f.buf) {
			f.buf = append(f.buf, make([]byte, min(n-have, 2*chunk))...)
		}
		m, err := io.ReadFull(f.r, f.buf[have:min(n, len(f.buf))])
		have += m
		if err != nil {
			return nil, err
		}
	}
	return f.buf[:n], nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decode reads a frame's payload. The payload of a message that needs none may be empty.
func (f frame) decode(v any) error {
	if err := decoder.Unmarshal(f.payload, v); err != nil {
		return fmt.Errorf("%w: %s: %w", errFrame, f.kind, err)
	}
	return nil
}
