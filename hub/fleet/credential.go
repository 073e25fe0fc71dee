package fleet

import (
	"context"
	"encoding/json"

	"claude-hub/hub/bus"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// credentialsEnded is the kind on wire.CredentialSubject: something that opened the Hub for a person opens it no more.
const credentialsEnded = "ended"

type endedMessage struct {
	Person claudehub.PersonID `json:"person"`
}

// credentialsChanged says that some of a person's credentials are good no more. A message that is lost is only late:
// what lives long authenticates again at each of its pings.
func (f *Fleet) credentialsChanged(p claudehub.PersonID) {
	f.publish(wire.CredentialSubject, credentialsEnded, endedMessage{p})
}

// Revocations calls fn, from one goroutine, when some of a person's credentials are good no more: whatever lives long
// authenticates again then. It does so too when it may have missed one.
func (f *Fleet) Revocations(p claudehub.PersonID, fn func()) (stop func(), err error) {
	return f.bus.Subscribe(wire.CredentialSubject, func(kind string, data []byte) {
		var m endedMessage
		if kind == bus.Cut || kind == credentialsEnded && json.Unmarshal(data, &m) == nil && m.Person == p {
			fn()
		}
	})
}

// writeAgain is for what two may do at the same moment, where the second has to look again: a name that was just taken.
func (f *Fleet) writeAgain(ctx context.Context, fn func(store.Q) error) error {
	const tries = 4
	for try := 1; ; try++ {
		err := f.st.Write(ctx, fn)
		if claudehub.CodeOf(err) != claudehub.Conflict || try == tries || ctx.Err() != nil {
			return err
		}
	}
}
