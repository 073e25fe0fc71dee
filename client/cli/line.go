package cli

import (
	"fmt"
	"time"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// line says why keys do not reach the program, or nothing when they do.
func (s *seat) line(st client.TerminalStatus) string {
	off := " Typing is off."
	if s.watch {
		off = ""
	}
	leave := fmt.Sprintf(" %s leaves.", s.key)
	since := func(l client.Link) string { return span(time.Since(l.Since)) }
	switch {
	case st.Hub.State != claudehub.LinkUp && !st.Drawn && st.Why == "":
		return "Linking to the Hub…" + leave
	case st.Hub.State != claudehub.LinkUp:
		return "Hub unreachable since " + since(st.Hub) + "." + off + " Trying again." + leave
	case st.State == nil, st.State.Runner.State == "", st.State.Sandbox.State == "": // a Hub just up has not looked yet
		return "Linking to the Hub…" + leave
	case st.State.Runner.State != claudehub.LinkUp:
		return "No link from the Hub to the Runner since " + since(st.State.Runner) + ". The Session goes on there." + off + leave
	case st.State.Sandbox.State == claudehub.LinkNone:
		return "The Session is not awake." + off + " Wake it with: claude-hub sessions wake " + string(s.session.ID)
	case st.State.Sandbox.State != claudehub.LinkUp:
		return "No link from the Runner to the Sandbox since " + since(st.State.Sandbox) + "." + off + leave
	case !st.State.Drive && !s.watch:
		return "Watching: only its Creator types." + leave
	case !st.Drawn:
		return "Waiting for the screen…" + leave
	}
	return ""
}
