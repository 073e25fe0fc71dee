package runner

import (
	"strings"
	"time"
	"unicode"

	"claude-hub/desktop/mod"
	"claude-hub/internal/claudehub"
)

// activity is what Claude does, put together from the mod's reports and, where those are silent, the screen: Claude Code
// reports no interrupted Turn, say.
type activity struct {
	is    claudehub.Activity
	doing string
	// turn is when the running Turn was heard of, by our clock; zero between Turns.
	turn time.Time
	// worked is set once the screen has shown the Turn at work.
	worked bool
	// prompting is since when the screen has been at the prompt without a break, as looks saw it; zero while it is not.
	prompting time.Time
	// prompt is the text that began it.
	prompt string
}

// outcome is what a report means beyond the activity itself.
type outcome struct {
	began bool // a Turn began, with activity.prompt
	ended bool // a Turn ended
	told  bool // Claude said that one ended, which may have been taken as over before
}

// report takes one event of the mod.
func (a *activity) report(e mod.Event) outcome {
	switch e.Name {
	case "UserPromptSubmit":
		*a = activity{is: claudehub.Busy, doing: "Thinking", turn: time.Now(), prompt: e.Prompt}
		return outcome{began: true}
	case "PreToolUse":
		a.is, a.doing = claudehub.Busy, oneLine(e.Tool+": "+e.Message)
		if asks(e.Tool) {
			a.is, a.doing = claudehub.NeedsYou, oneLine(e.Message)
		}
	case "PostToolUse":
		a.is, a.doing = claudehub.Busy, "Thinking"
	case "Notification":
		// After a minute of idling Claude notifies too; that asks for nothing. One that follows a question knows less of it.
		if e.Kind != "idle_prompt" && a.is != claudehub.NeedsYou {
			a.is, a.doing = claudehub.NeedsYou, oneLine(e.Message)
		}
	case "Stop", "StopFailure":
		ended := !a.turn.IsZero()
		*a = activity{is: claudehub.Ready, doing: oneLine(e.LastAssistantMessage)}
		if e.Name == "StopFailure" {
			a.doing = oneLine("Ended with an error: " + e.Message + ". " + e.LastAssistantMessage)
		}
		return outcome{ended: ended, told: true}
	}
	return outcome{}
}

// screenIdle takes the screen's word that Claude sits at its prompt, although no report said so.
func (a *activity) screenIdle() outcome {
	ended := !a.turn.IsZero()
	*a = activity{is: claudehub.Ready, doing: a.doing}
	if ended {
		a.doing = "Interrupted"
	}
	return outcome{ended: ended}
}

// asks tells the tools that wait for the person.
func asks(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

const maxDoing = 160

// oneLine makes text from a Sandbox fit to be shown: one line of printable characters, bounded.
func oneLine(s string) string {
	if len(s) > 4*maxDoing {
		s = strings.ToValidUTF8(s[:4*maxDoing], "")
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxDoing {
		s = string(r[:maxDoing-1]) + "…"
	}
	return strings.TrimRight(s, ": ")
}
