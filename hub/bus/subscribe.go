package bus

import (
	"errors"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// subscriber is one function that gets messages. NATS calls it from one goroutine of its own, one message at a time.
type subscriber struct {
	fn   func(kind string, data []byte)
	gone atomic.Bool // unsubscribed by its owner: it hears nothing more
	cut  atomic.Bool // cut off by us: it hears Cut and nothing more
}

// Subscribe calls fn for each message on the subject, in order, from one goroutine; data is fn's to keep. When it
// returns, the subscription is in force. A fn that is too slow, so that more waits for it than the bounds, is cut off.
// After unsubscribe, which may be called more than once and does not wait, no further call begins.
func (b *Bus) Subscribe(subject wire.Subject, fn func(kind string, data []byte)) (unsubscribe func(), err error) {
	s := &subscriber{fn: fn}
	sub, err := b.conn.Subscribe(string(subject), s.receive)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The Hub's message bus is not connected. Try again in a moment.")
	}
	sub.SetClosedHandler(func(string) { s.closed() })
	err = sub.SetPendingLimits(b.opt.Waiting, b.opt.WaitingBytes)
	b.mu.Lock()
	b.subs[sub] = s
	b.mu.Unlock()
	unsubscribe = func() { b.unsubscribe(sub, s) }
	if err == nil {
		err = b.conn.FlushTimeout(startTimeout) // so that what is published after this returns is received
	}
	if err != nil {
		unsubscribe()
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The Hub's message bus is not connected. Try again in a moment.")
	}
	return unsubscribe, nil
}

func (b *Bus) unsubscribe(sub *nats.Subscription, s *subscriber) {
	s.gone.Store(true)
	b.forget(sub)
	_ = sub.Unsubscribe() // an error means that it has ended already
}

func (b *Bus) forget(sub *nats.Subscription) *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subs[sub]
	delete(b.subs, sub)
	return s
}

func (s *subscriber) receive(m *nats.Msg) {
	if s.gone.Load() || s.cut.Load() {
		return
	}
	if kind, data, err := unpack(m.Data); err == nil {
		s.fn(kind, data)
	}
}

// closed runs on the goroutine that receives, after its last message.
func (s *subscriber) closed() {
	if s.cut.Load() && !s.gone.Load() {
		s.fn(Cut, nil)
	}
}

func (b *Bus) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if sub == nil || !errors.Is(err, nats.ErrSlowConsumer) {
		b.log.Error("message bus", "err", err)
		return
	}
	b.log.Warn("a subscriber of the message bus fell behind and was cut off", "subject", sub.Subject)
	b.cutOff(sub)
}

func (b *Bus) onDisconnect(_ *nats.Conn, err error) {
	if err != nil {
		b.log.Error("message bus is disconnected", "err", err)
	}
	b.cutAll() // messages were lost, and nobody can say which
}

func (b *Bus) cutOff(sub *nats.Subscription) {
	if s := b.forget(sub); s != nil {
		s.cut.Store(true)
		_ = sub.Unsubscribe() // an error means that it has ended already
	}
}

func (b *Bus) cutAll() {
	b.mu.Lock()
	subs := make([]*nats.Subscription, 0, len(b.subs))
	for sub := range b.subs {
		subs = append(subs, sub)
	}
	b.mu.Unlock()
	for _, sub := range subs {
		b.cutOff(sub)
	}
}
