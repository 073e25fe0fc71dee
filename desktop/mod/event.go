package mod

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one report of Claude Code, in its own words where they are enough. Every text is a stranger's.
type Event struct {
	// Key names this report among all of its Session: the same for as long as it waits, and not used again.
	Key  string
	Name string // UserPromptSubmit, Stop, …
	At   time.Time

	SessionID string
	Prompt    string // of UserPromptSubmit: all of it
	PromptID  string // of the prompt whose Turn this belongs to
	Tool      string // of the tool events and PermissionRequest
	ToolUseID string
	AgentID   string // set when a subagent's tool reports, and by SubagentStop
	// Message is a line for people: of a Notification its text, of a tool what it is about to do, of a failure its kind.
	Message string
	// Kind sorts notifications: permission_prompt, idle_prompt, …
	Kind                 string
	Source               string // of SessionStart: startup, resume, clear, compact
	Reason               string // of SessionEnd
	LastAssistantMessage string
	// Truncated tells that the report was too large: long texts were cut, or all but Key, Name and At is missing.
	Truncated bool
}

// Bounds of what is read of one report.
const (
	maxFile    = 64 << 20 // beyond it, only the name is believed
	maxPrompt  = 16 << 20
	maxText    = 64 << 10
	maxMessage = 400
)

// report is a hook's input, as far as it is wanted.
type report struct {
	SessionID            string          `json:"session_id"`
	Prompt               string          `json:"prompt"`
	PromptID             string          `json:"prompt_id"`
	Tool                 string          `json:"tool_name"`
	ToolUseID            string          `json:"tool_use_id"`
	ToolInput            json.RawMessage `json:"tool_input"`
	AgentID              string          `json:"agent_id"`
	Message              string          `json:"message"`
	Kind                 string          `json:"notification_type"`
	Source               string          `json:"source"`
	Trigger              string          `json:"trigger"` // of PreCompact
	Reason               string          `json:"reason"`
	Error                string          `json:"error"`
	LastAssistantMessage string          `json:"last_assistant_message"`
}

// fill takes the wanted fields of a report, each within its bound.
func (e *Event) fill(b []byte) error {
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("parse report: %w", err)
	}
	cut := func(s string, most int) string {
		if len(s) > most {
			e.Truncated = true
			for most > 0 && !utf8.RuneStart(s[most]) {
				most--
			}
			s = s[:most]
		}
		return s
	}
	e.SessionID, e.PromptID = cut(r.SessionID, maxMessage), cut(r.PromptID, maxMessage)
	e.Prompt = cut(r.Prompt, maxPrompt)
	e.Tool, e.ToolUseID, e.AgentID = cut(r.Tool, maxMessage), cut(r.ToolUseID, maxMessage), cut(r.AgentID, maxMessage)
	e.Kind, e.Reason = cut(r.Kind, maxMessage), cut(r.Reason, maxMessage)
	e.Source = cut(r.Source+r.Trigger, maxMessage)
	e.LastAssistantMessage = cut(r.LastAssistantMessage, maxText)
	e.Message = shorten(r.message())
	return nil
}

func (r report) message() string {
	switch {
	case r.Message != "":
		return r.Message
	case r.Tool != "" && r.Error == "":
		return about(r.ToolInput)
	}
	return r.Error
}

// about says what a tool is about to do, in the words of whichever usual field its input has.
func about(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"description", "command", "file_path", "notebook_path", "pattern", "url", "query", "prompt", "skill", "subject"} {
		var s string
		if json.Unmarshal(fields[name], &s) == nil && s != "" {
			return s
		}
	}
	var questions []struct{ Question string }
	if json.Unmarshal(fields["questions"], &questions) == nil && len(questions) > 0 {
		return questions[0].Question
	}
	return ""
}

// shorten keeps a message to a line's length, marked where it was cut.
func shorten(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// fileName is what the hook names a report: time, process, event.
var fileName = regexp.MustCompile(`^(\d{19})-\d{1,10}-([A-Za-z]{1,40})\.json$`)
