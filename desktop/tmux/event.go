package tmux

// Event is something that tmux said: one of Block, Output, Pause, Continue, Exit, Notice, Unknown, Drained.
type Event interface{ event() }

// Block is the answer to one command.
type Block struct {
	Time   int64
	Number uint64
	Flags  int // bit 0: the command came from this client; without it the block is unsolicited
	Failed bool
	Lines  [][]byte
}

// Output is what a pane printed. Data is valid until the handler returns.
type Output struct {
	Pane string // with its '%'
	Age  int64  // milliseconds that tmux held it back; -1 when tmux did not say
	Data []byte
}

// Pause says that tmux gives up sending a pane's output until it is told to continue; what it held is lost.
type Pause struct{ Pane string }

// Continue ends a Pause.
type Continue struct{ Pane string }

// Exit is tmux's goodbye; Reason may be empty.
type Exit struct{ Reason string }

// Notice is one of the other notifications that tmux documents, %window-renamed for example.
type Notice struct {
	Name string // without its '%'
	Args string
}

// Unknown is a line that this package does not know.
type Unknown struct{ Line string }

// Drained says that all that was read from the transport so far has been handled. The Client makes it, not the Parser.
type Drained struct{}

func (Block) event()    {}
func (Output) event()   {}
func (Pause) event()    {}
func (Continue) event() {}
func (Exit) event()     {}
func (Notice) event()   {}
func (Unknown) event()  {}
func (Drained) event()  {}

// notices are the notifications kept as Notice.
var notices = map[string]bool{
	"client-detached": true, "client-session-changed": true, "config-error": true, "layout-change": true, "message": true,
	"pane-mode-changed": true, "paste-buffer-changed": true, "paste-buffer-deleted": true, "session-changed": true,
	"session-renamed": true, "session-window-changed": true, "sessions-changed": true, "subscription-changed": true,
	"unlinked-window-add": true, "unlinked-window-close": true, "unlinked-window-renamed": true, "window-add": true,
	"window-close": true, "window-pane-changed": true, "window-renamed": true,
}
