package wire

import (
	"claude-hub/internal/claudehub"
)

// The terminal's WebSocket, /api/sessions/{id}/terminal. The browser sends TerminalUp as JSON text; the Hub sends
// TerminalDown as JSON text, and Frames (snapshot and delta, encoded as in AppendFrame) as binary messages.

// TerminalUp is what a browser sends. Type says which fields count.
type TerminalUp struct {
	Type string `json:"type" enum:"hello,keys,paste,size,claim,ack,ping"`

	// hello, the first message: which terminal this is, its size, and the last Input that it knows to be applied.
	Terminal string `json:"terminal,omitempty" doc:"made by the browser, [a-z0-9-]{1,64}; the same after a reconnect"`
	Cols     int    `json:"cols,omitempty"`
	Rows     int    `json:"rows,omitempty"`
	Active   bool   `json:"active,omitempty" doc:"hello: claims the size at once"`

	// keys and paste
	N    uint64 `json:"n,omitempty" doc:"1, 2, 3 … per terminal and life"`
	Life string `json:"life,omitempty" doc:"of the screen the person saw"`
	Data string `json:"data,omitempty" doc:"keys: base64 of the bytes; paste: the text itself"`

	// ack: all bytes of binary messages that the terminal has drawn so far, on this connection
	Bytes uint64 `json:"bytes,omitempty"`

	// ping: comes back as pong with the same number
	ID uint64 `json:"id,omitempty"`
}

// TerminalDown is what the Hub sends as text.
type TerminalDown struct {
	Type string `json:"type" enum:"state,input,pong,refused"`

	// state, at once after hello and at each change
	State *TerminalState `json:"state,omitempty"`

	// input: what became of this terminal's input
	Input *InputReport `json:"input,omitempty"`

	ID uint64 `json:"id,omitempty"` // pong

	// refused: this message was not acted on, and why; or why the connection ends, with the code of that error
	Why  string         `json:"why,omitempty"`
	Code claudehub.Code `json:"code,omitempty"`
}

// TerminalState is what a page must know beside the bytes.
type TerminalState struct {
	// Drive tells whether this person may type here.
	Drive bool `json:"drive"`
	// Owner tells whether this terminal's size is the one in force. Others scale or scroll; one that may drive can claim.
	Owner   bool `json:"owner"`
	Cols    int  `json:"cols"`
	Rows    int  `json:"rows"`
	Viewers int  `json:"viewers"`
	// Watchers are the people with a terminal of this Session open, each once, whichever Hub process they are at.
	Watchers []claudehub.Face `json:"watchers"`
	Runner   claudehub.Link   `json:"runner" doc:"the hop from Hub to Runner"`
	Sandbox  claudehub.Link   `json:"sandbox" doc:"the hop from Runner to Sandbox"`
}

// Flow control between Hub and browser, in bytes of binary messages not yet acknowledged.
const (
	// ViewerWindow is how much may be unacknowledged before a viewer counts as behind: it then gets nothing until it has
	// caught up to ViewerResume, and then a snapshot. At 50 KB/s a viewer so sees output that is three seconds old at the
	// most; with 100 ms to the Hub it still gets more than a terminal prints.
	ViewerWindow = 128 << 10
	ViewerResume = 32 << 10
)
