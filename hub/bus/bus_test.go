package bus_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"claude-hub/hub/bus"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const subject = wire.ChangeSubject

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(tb testing.TB, opt bus.Options) *bus.Bus {
	tb.Helper()
	b, err := bus.Start(context.Background(), opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

// external is a NATS server on a port, as several Hubs share.
func external(tb testing.TB, port int) *server.Server {
	tb.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true, MaxPayload: bus.MaxPayload})
	if err != nil {
		tb.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the server is not ready")
	}
	tb.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv
}

type message struct{ kind, data string }

func listen(tb testing.TB, b *bus.Bus, size int) (chan message, func()) {
	tb.Helper()
	c := make(chan message, size)
	stop, err := b.Subscribe(subject, func(kind string, data []byte) { c <- message{kind, string(data)} })
	if err != nil {
		tb.Fatal(err)
	}
	return c, stop
}

func next(tb testing.TB, c <-chan message) message {
	tb.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(20 * time.Second):
		tb.Fatal("no message came")
		return message{}
	}
}

func publish(tb testing.TB, b *bus.Bus, kind, data string) {
	tb.Helper()
	if err := b.Publish(subject, kind, []byte(data)); err != nil {
		tb.Fatal(err)
	}
}

func TestInOrderToEach(t *testing.T) {
	for name, url := range map[string]string{"inside": "", "outside": external(t, -1).ClientURL()} {
		t.Run(name, func(t *testing.T) {
			b := start(t, bus.Options{URL: url})
			one, _ := listen(t, b, 1000)
			two, stopTwo := listen(t, b, 1000)
			for i := range 500 {
				publish(t, b, "k", fmt.Sprint(i))
			}
			for i := range 500 {
				want := message{"k", fmt.Sprint(i)}
				if got := next(t, one); got != want {
					t.Fatalf("one got %v, not %v", got, want)
				}
				if got := next(t, two); got != want {
					t.Fatalf("two got %v, not %v", got, want)
				}
			}
			stopTwo()
			stopTwo()
			publish(t, b, "k", "after")
			if got := next(t, one); got.data != "after" {
				t.Errorf("one got %v", got)
			}
			select {
			case got := <-two:
				t.Errorf("two got %v after its end", got)
			default:
			}
		})
	}
}

func TestHubsHearEachOther(t *testing.T) {
	url := external(t, -1).ClientURL()
	a, b := start(t, bus.Options{URL: url}), start(t, bus.Options{URL: url})
	if a.Embedded() {
		t.Error("a bus with a URL says that it is embedded")
	}
	c, _ := listen(t, b, 1)
	publish(t, a, "k", "x")
	if got := next(t, c); got != (message{"k", "x"}) {
		t.Errorf("got %v", got)
	}
}

// A subscriber that does not take what it gets is cut, hears so, and holds up nobody.
func TestSlowIsCut(t *testing.T) {
	b := start(t, bus.Options{Waiting: 50})
	block := make(chan struct{})
	slow := make(chan message, 1000)
	_, err := b.Subscribe(subject, func(kind string, data []byte) {
		<-block
		slow <- message{kind, string(data)}
	})
	if err != nil {
		t.Fatal(err)
	}
	quick, _ := listen(t, b, 1000)
	for i := range 400 {
		publish(t, b, "k", fmt.Sprint(i))
		if got := next(t, quick); got.data != fmt.Sprint(i) {
			t.Fatalf("the quick one got %v instead of %d", got, i)
		}
	}
	close(block)
	var last message
	for i := 0; ; i++ {
		if last = next(t, slow); last.kind == bus.Cut {
			break
		}
		if last.data != fmt.Sprint(i) {
			t.Fatalf("a message is missing before the cut: %v instead of %d", last, i)
		}
	}
	publish(t, b, "k", "later")
	if got := next(t, quick); got.data != "later" {
		t.Errorf("the quick one got %v", got)
	}
	select {
	case got := <-slow:
		t.Errorf("after the cut came %v", got)
	default:
	}
}

// What is lost while the server is away cannot be known, so that every subscriber is cut.
func TestBrokenConnectionCuts(t *testing.T) {
	srv := external(t, -1)
	b := start(t, bus.Options{URL: srv.ClientURL()})
	c, _ := listen(t, b, 10)
	port := srv.Addr().String()
	srv.Shutdown()
	srv.WaitForShutdown()
	if got := next(t, c); got.kind != bus.Cut {
		t.Fatalf("got %v", got)
	}
	if err := b.Publish(subject, "k", nil); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("publishing to nobody: %v", err)
	}
	var n int
	if _, err := fmt.Sscanf(port[strings.LastIndex(port, ":"):], ":%d", &n); err != nil {
		t.Fatal(err)
	}
	external(t, n)
	deadline := time.Now().Add(30 * time.Second)
	for {
		stop, err := b.Subscribe(subject, func(kind string, data []byte) { c <- message{kind, string(data)} })
		if err == nil {
			defer stop()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	publish(t, b, "k", "back")
	if got := next(t, c); got.data != "back" {
		t.Errorf("got %v", got)
	}
}

func TestCloseCuts(t *testing.T) {
	b := start(t, bus.Options{})
	c, _ := listen(t, b, 10)
	b.Close()
	if got := next(t, c); got.kind != bus.Cut {
		t.Errorf("got %v", got)
	}
}

func TestBounds(t *testing.T) {
	b := start(t, bus.Options{})
	c, _ := listen(t, b, 10)
	big := strings.Repeat("x", bus.MaxPayload-2)
	publish(t, b, "k", big)
	if got := next(t, c); got.data != big {
		t.Errorf("%d bytes came of %d", len(got.data), len(big))
	}
	if err := b.Publish(subject, "k", []byte(big+"x")); claudehub.CodeOf(err) != claudehub.TooLarge {
		t.Errorf("one byte more: %v", err)
	}
	if err := b.Publish(subject, bus.Cut, nil); err == nil {
		t.Error("a message of the kind Cut was published")
	}
	if err := b.Publish(subject, "", nil); err == nil {
		t.Error("a message without a kind was published")
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := bus.Start(context.Background(), bus.Options{URL: "nats://127.0.0.1:1"})
	if claudehub.CodeOf(err) != claudehub.Unavailable || !strings.Contains(claudehub.MessageOf(err), "NATS") {
		t.Errorf("the error is %v", err)
	}
}

func BenchmarkPublishToSubscriber(b *testing.B) {
	bs := start(b, bus.Options{})
	c := make(chan struct{}, 1)
	if _, err := bs.Subscribe(subject, func(string, []byte) { c <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 200)
	for b.Loop() {
		if err := bs.Publish(subject, "input", data); err != nil {
			b.Fatal(err)
		}
		<-c
	}
}
