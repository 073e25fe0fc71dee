package runner

import (
	"net/netip"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
)

const listeningSaid = `   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0000000000000000 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0000000000000000 100 0 0 10 0
   2: 0200000A:1234 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 333 1 0000000000000000 100 0 0 10 0
   0: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 444 1 0000000000000000 100 0 0 10 0
   1: 00000000000000000000000000000000:0BB9 short
=
/proc/12/fd/:
total 0
lrwx------ 1 claude claude 64 Nov 29 19:00 0 -> /dev/null
lrwx------ 1 claude claude 64 Nov 29 19:00 5 -> socket:[111]
lrwx------ 1 claude claude 64 Nov 29 19:00 6 -> socket:[333]

/proc/77/fd/:
lrwx------ 1 claude claude 64 Nov 29 19:00 3 -> socket:[444]
=
/proc/12/comm:node
/proc/77/comm:python3
`

// TestListening: what belongs to no process of the Sandbox is the machine's, and what listens elsewhere than on the
// loopback cannot be forwarded.
func TestListening(t *testing.T) {
	got := parseListening(strings.NewReader(listeningSaid))
	want := []claudehub.Port{{Port: 3000, Process: "python3", Listens: true}, {Port: 8080, Process: "node", Listens: true}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
}

func TestProcAddr(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000000000000000000001000000:0BB8": "[::1]:3000",
		"0000000000000000FFFF00000100007F:0016": "[::ffff:127.0.0.1]:22",
	} {
		if got, ok := procAddr(text); !ok || got != netip.MustParseAddrPort(want) {
			t.Errorf("%s is %s, %t", text, got, ok)
		}
	}
}

func FuzzListening(f *testing.F) {
	f.Add(listeningSaid)
	f.Add("=\n=\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, p := range parseListening(strings.NewReader(text)) {
			if p.Port < last || p.Port > 65535 || !p.Listens || p.Process != oneLine(p.Process) {
				t.Errorf("%+v after %d", p, last)
			}
			last = p.Port
		}
	})
}
