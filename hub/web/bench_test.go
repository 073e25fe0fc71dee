package web_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// BenchmarkIdleRunnerLink opens a thousand streams, as Runners without a change do, and reports what one costs the Hub.
// The far ends are bare sockets, so that their memory does not count.
func BenchmarkIdleRunnerLink(b *testing.B) {
	const links = 1000
	for b.Loop() {
		h := runnertest.NewHub(b, nil)
		p := h.Person("ann")
		requests := make([]*http.Request, links)
		for i := range requests {
			r := h.Runner(p, fmt.Sprintf("runner-%d", i))
			requests[i] = r.Request(context.Background(), http.MethodGet, wire.StreamPath+"?host=h", nil)
		}
		before := memory()
		conns := make([]net.Conn, links)
		for i, req := range requests {
			conns[i] = dialLink(b, h.URL, req)
		}
		after := memory()
		b.ReportMetric(float64(after-before)/links, "B/link")
		b.ReportMetric(float64(runtime.NumGoroutine())/links, "goroutines/link")
		for _, c := range conns {
			c.Close()
		}
		h.Stop()
	}
}

func dialLink(b *testing.B, url string, req *http.Request) net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	if err := req.Write(conn); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReaderSize(conn, 512)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if strings.HasPrefix(line, "event: snapshot") {
			return conn
		}
	}
}

// memory is what the process holds for the heap and for stacks, after a collection.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkKeyToEcho measures browser socket → Hub → Runner's stream, and Runner's post → Hub → browser socket, with a
// Runner that answers at once.
func BenchmarkKeyToEcho(b *testing.B) {
	s := newStage(b)
	v := s.view(b, "tab")
	s.until(b, v, "first screen", ready)
	v.Close()
	conn := s.bare(b)
	life := s.term.Life()
	took := make([]time.Duration, 0, b.N)
	n := uint64(0)
	for b.Loop() {
		n++
		begin := time.Now()
		up, err := json.Marshal(wire.TerminalUp{Type: "keys", N: n, Life: life, Data: base64.StdEncoding.EncodeToString([]byte("k"))})
		if err != nil {
			b.Fatal(err)
		}
		if err := conn.Write(context.Background(), websocket.MessageText, up); err != nil {
			b.Fatal(err)
		}
		waitBinary(b, conn)
		took = append(took, time.Since(begin))
	}
	percentiles(b, took)
}

// BenchmarkScreenToBrowser is the way of output alone.
func BenchmarkScreenToBrowser(b *testing.B) {
	s := newStage(b)
	conn := s.bare(b)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		if err := s.term.Write(context.Background(), []byte("output")); err != nil {
			b.Fatal(err)
		}
		waitBinary(b, conn)
		took = append(took, time.Since(begin))
	}
	percentiles(b, took)
}

// bare is a terminal's connection past its first screen, with nothing between the test and the socket.
func (s *stage) bare(b *testing.B) *websocket.Conn {
	conn, _, err := s.ann.Dial(context.Background(), s.annS.ID, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(2 << 20)
	hello := []byte(`{"type":"hello","terminal":"` + strings.ToLower(claudehub.NewNonce()) + `","cols":80,"rows":24}`)
	if err := conn.Write(context.Background(), websocket.MessageText, hello); err != nil {
		b.Fatal(err)
	}
	waitBinary(b, conn)
	return conn
}

var drawn = map[*websocket.Conn]uint64{}

func waitBinary(b *testing.B, conn *websocket.Conn) {
	for {
		kind, data, err := conn.Read(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if kind != websocket.MessageBinary {
			continue
		}
		if drawn[conn] += uint64(len(data)); drawn[conn]%8 == 0 { // now and then
			ack := fmt.Appendf(nil, `{"type":"ack","bytes":%d}`, drawn[conn])
			if err := conn.Write(context.Background(), websocket.MessageText, ack); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(p float64) float64 { return float64(took[int(float64(len(took)-1)*p)].Microseconds()) }
	b.ReportMetric(at(.5), "p50-µs")
	b.ReportMetric(at(.99), "p99-µs")
}
