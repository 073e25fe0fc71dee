package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"claude-hub/internal/claudehub"
)

// Limits are how much one address, one person or one Runner may ask. What is zero is as in DefaultLimits.
type Limits struct {
	SignIn        Rate // of an address, at each way to sign in
	DeviceCode    Rate // of an address
	EntryPerson   Rate // wrong codes: of a device, of the set-up, of a link to a Session
	EntryAddress  Rate
	TokenFailures Rate // of an address: credentials that open nothing
	Writes        Rate // of a person or a token's person
	Uploads       Rate // in bytes, of a person
	RunnerUploads Rate // in bytes, of a Runner

	Sockets, SocketsPerAddress int // terminals open at a time
	Streams, StreamsPerAddress int // pages that listen

	Keys int // how many addresses and people are told apart
}

// DefaultLimits are generous to people and to offices behind one address, and short for who guesses.
func DefaultLimits() Limits {
	return Limits{
		SignIn: Rate{10, time.Minute}, DeviceCode: Rate{10, time.Minute},
		EntryPerson: Rate{5, time.Minute}, EntryAddress: Rate{20, time.Minute},
		TokenFailures: Rate{20, time.Minute}, Writes: Rate{300, time.Minute},
		Uploads: Rate{256 << 20, time.Minute}, RunnerUploads: Rate{2 << 30, time.Minute},
		Sockets: 50, SocketsPerAddress: 400, Streams: 20, StreamsPerAddress: 400, Keys: 20_000,
	}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	for _, r := range []struct{ mine, other *Rate }{
		{&l.SignIn, &d.SignIn}, {&l.DeviceCode, &d.DeviceCode}, {&l.EntryPerson, &d.EntryPerson}, {&l.EntryAddress, &d.EntryAddress},
		{&l.TokenFailures, &d.TokenFailures}, {&l.Writes, &d.Writes}, {&l.Uploads, &d.Uploads}, {&l.RunnerUploads, &d.RunnerUploads},
	} {
		if r.mine.Count <= 0 || r.mine.Per <= 0 {
			*r.mine = *r.other
		}
	}
	for _, n := range []struct{ mine, other *int }{
		{&l.Sockets, &d.Sockets}, {&l.SocketsPerAddress, &d.SocketsPerAddress}, {&l.Streams, &d.Streams},
		{&l.StreamsPerAddress, &d.StreamsPerAddress}, {&l.Keys, &d.Keys},
	} {
		if *n.mine <= 0 {
			*n.mine = *n.other
		}
	}
	return l
}

// limits are the counters of a Hub process.
type limits struct {
	signIn, deviceCode, entryPerson, entryAddress, failures, writes, uploads, runnerUploads *rates

	sockets, socketsPerAddress, streams, streamsPerAddress *slots
}

func newLimits(l Limits) *limits {
	l = l.orDefault()
	return &limits{
		signIn: newRates("sign-in", l.SignIn, l.Keys), deviceCode: newRates("device-code", l.DeviceCode, l.Keys),
		entryPerson: newRates("codes", l.EntryPerson, l.Keys), entryAddress: newRates("codes-address", l.EntryAddress, l.Keys),
		failures: newRates("credentials", l.TokenFailures, l.Keys), writes: newRates("writes", l.Writes, l.Keys),
		uploads: newRates("uploads", l.Uploads, l.Keys), runnerUploads: newRates("uploads", l.RunnerUploads, l.Keys),
		sockets: newSlots("terminals", l.Sockets), socketsPerAddress: newSlots("terminals-address", l.SocketsPerAddress),
		streams: newSlots("streams", l.Streams), streamsPerAddress: newSlots("streams-address", l.StreamsPerAddress),
	}
}

// limited is the refusal of who asked too much. It becomes a problem with the headers that say when to come again.
type limited struct {
	name string
	rate Rate
	left int
	wait time.Duration
}

func (l *limited) seconds() int { return max(1, int(math.Ceil(l.wait.Seconds()))) }

func (l *limited) Error() string { return fmt.Sprintf("the limit %s is reached", l.name) }

// Unwrap gives it its code and its sentence.
func (l *limited) Unwrap() error {
	if l.rate.Per == 0 {
		return claudehub.Errorf(claudehub.TooMany, "%d of these are open already, which is all there can be. Close some, and try again.", l.rate.Count)
	}
	return claudehub.Errorf(claudehub.TooMany, "That was too often in a short time. Try again in %d seconds.", l.seconds())
}

// headers are those of RFC 9110 and of the IETF's RateLimit fields.
func (l *limited) headers(h http.Header) {
	h.Set("Retry-After", strconv.Itoa(l.seconds()))
	policy := fmt.Sprintf("%q;q=%d", l.name, l.rate.Count)
	if l.rate.Per > 0 {
		policy += fmt.Sprintf(";w=%d", int(math.Ceil(l.rate.Per.Seconds())))
	}
	h.Set("RateLimit-Policy", policy)
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", l.name, l.left, l.seconds()))
}
