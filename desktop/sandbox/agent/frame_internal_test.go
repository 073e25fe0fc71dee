package agent

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// golden are frames byte by byte, checked by hand against the format: a change here breaks every Sandbox that runs.
var golden = []struct {
	name    string
	id      uint32
	flags   uint8
	kind    string
	payload any
	hex     string
}{
	{
		"ping", 0x01020304, 0, typePing, nothing{},
		"00000019" + "01020304" + "00" + "a3" + "6176" + "07" + "6174" + "69636f72652e70696e67" + "6170" + "41a0",
	},
	{
		"stdin with nothing is an empty string and not null", 1, 0, typeStdin, data{},
		"00000025" + "00000001" + "00" + "a3" + "6176" + "07" + "6174" + "6f636f72652e657865632e737464696e" + "6170" +
			"47" + "a1" + "6464617461" + "40",
	},
	{
		"exited by a signal", 7, flagTerminal, typeExited, exited{Code: -1},
		"00000026" + "00000007" + "01" + "a3" + "6176" + "07" + "6174" + "70636f72652e657865632e657869746564" + "6170" +
			"47" + "a1" + "64636f6465" + "20",
	},
	{
		"request", 2, flagStart, typeRequest, request{Cmd: "ls", Args: []string{"-l"}, Cwd: ptr("/w"), Rows: 24, Cols: 80},
		"00000057" + "00000002" + "02" + "a3" + "6176" + "07" + "6174" + "71636f72652e657865632e72657175657374" + "6170" +
			"5836" + "a8" + "63636d64" + "626c73" + "6461726773" + "81622d6c" + "63656e76" + "80" + "63637764" + "622f77" +
			"6475736572" + "f6" + "63747479" + "f4" + "64726f7773" + "1818" + "64636f6c73" + "1850",
	},
}

func TestGoldenFrames(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			b, err := appendFrame(nil, g.id, g.flags, g.kind, g.payload)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(b); got != g.hex {
				t.Fatalf("got  %s\nwant %s", got, g.hex)
			}
			f, err := (&frameReader{r: iotest.OneByteReader(bytes.NewReader(b))}).next()
			if err != nil {
				t.Fatal(err)
			}
			back := reflect.New(reflect.TypeOf(g.payload))
			if err := f.decode(back.Interface()); err != nil {
				t.Fatal(err)
			}
			again, err := appendFrame(nil, f.id, f.flags, f.kind, back.Elem().Interface())
			if err != nil || !bytes.Equal(again, b) {
				t.Errorf("decoded and encoded again: %x, %v", again, err)
			}
		})
	}
}

// TestFramesFromElsewhere: what another encoder may write differently and means the same.
func TestFramesFromElsewhere(t *testing.T) {
	// The map in another order, with a longer integer than needed, an indefinite text, and a field that we do not know.
	body, err := hex.DecodeString("bf" + "6170" + "41a0" + "6174" + "7f" + "64636f7265" + "652e70696e67" + "ff" + "6176" + "1807" + "6178" + "f5" + "ff")
	if err != nil {
		t.Fatal(err)
	}
	raw := append([]byte{0, 0, 0, byte(5 + len(body)), 0, 0, 0, 9, 0}, body...)
	f, err := (&frameReader{r: bytes.NewReader(raw)}).next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(frame{id: 9, kind: typePing, payload: []byte{0xa0}}, f, cmp.AllowUnexported(frame{})); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenFrames(t *testing.T) {
	good, err := appendFrame(nil, 1, 0, typeStdin, data{Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"nothing":         {nil, io.EOF},
		"cut length":      {good[:3], io.ErrUnexpectedEOF},
		"cut header":      {good[:6], io.ErrUnexpectedEOF},
		"cut body":        {good[:len(good)-1], io.ErrUnexpectedEOF},
		"only a length":   {good[:4], io.ErrUnexpectedEOF},
		"too short":       {[]byte{0, 0, 0, 4, 0, 0, 0, 0}, errFrame},
		"too long":        {[]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0}, errFrame},
		"one over":        {[]byte{0, 0x40, 0, 1, 0, 0, 0, 0, 0}, errFrame},
		"no map":          {[]byte{0, 0, 0, 6, 0, 0, 0, 0, 0, 0x01}, errFrame},
		"rest after map":  {append([]byte{0, 0, 0, 7, 0, 0, 0, 0, 0}, 0xa0, 0xa0), errFrame},
		"nested too deep": {append([]byte{0, 0, 0, 25, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{0x81}, 20)...), errFrame},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&frameReader{r: bytes.NewReader(c.raw)}).next()
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestAFrameThatIsTooLargeIsNotSent(t *testing.T) {
	if _, err := appendFrame(nil, 1, 0, typeStdin, data{Data: make([]byte, maxFrame)}); err == nil {
		t.Error("it was encoded")
	}
}

// FuzzFrames: however the bytes are cut, the same frames come out, memory follows what arrived and not what was
// announced, and a frame that was read can be written and read again.
func FuzzFrames(f *testing.F) {
	for _, g := range golden {
		b, _ := hex.DecodeString(g.hex)
		f.Add(b, uint8(1))
		f.Add(append(b, b...), uint8(3))
	}
	f.Add([]byte{0, 0x3f, 0xff, 0xff, 0, 0, 0, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, raw []byte, step uint8) {
		whole, wholeErr := all(&frameReader{r: bytes.NewReader(raw)})
		cut := &frameReader{r: &stepReader{bytes.NewReader(raw), int(step%7) + 1}}
		pieces, piecesErr := all(cut)
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatal(diff)
		}
		if (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("%v and %v", wholeErr, piecesErr)
		}
		if len(cut.buf) > len(raw)+4*chunk {
			t.Fatalf("%d bytes held for %d that came", len(cut.buf), len(raw))
		}
		for _, fr := range whole {
			for _, v := range []any{&request{}, &data{}, &exited{}, &failed{}, &ready{}} {
				_ = fr.decode(v) // must not panic
			}
		}
	})
}

func all(r *frameReader) ([]frame, error) {
	var fs []frame
	for {
		f, err := r.next()
		if errors.Is(err, io.EOF) {
			return fs, nil
		}
		if err != nil {
			return fs, err
		}
		fs = append(fs, f)
	}
}

// stepReader gives a few bytes at a time.
type stepReader struct {
	r    io.Reader
	most int
}

func (s *stepReader) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.most)]) }
