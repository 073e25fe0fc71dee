package claude

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// ScreenKind is what Claude Code's screen looks like.
type ScreenKind string

// The kinds.
const (
	ScreenIdle   ScreenKind = "idle"   // the input box, and a sign that nothing runs
	ScreenBusy   ScreenKind = "busy"   // the input box, and a sign that something runs
	ScreenAsking ScreenKind = "asking" // a dialog that waits for a choice
	ScreenDead   ScreenKind = "dead"   // the process has ended
	// ScreenUnknown has an input box and no sign either way, which happens while an answer pauses in a narrow terminal,
	// or has nothing that is known.
	ScreenUnknown ScreenKind = "unknown"
)

// Screen is what can be read from the visible text of the terminal. The text is a stranger's: it is a second opinion
// beside the mod's reports, and decides nothing that must not be wrong.
type Screen struct {
	Kind ScreenKind
	// AtPrompt tells that Claude waits for a prompt: Kind is ScreenIdle.
	AtPrompt bool
	// Stopped tells that, as the words above the box have it, a person stopped the last Turn; AtPrompt is true then.
	Stopped bool
	// Box tells that there is an input box, idle or busy.
	Box bool
	// InputEmpty tells that there is an input box with nothing typed into it.
	InputEmpty bool
	// Input is the text in the box as it is shown: wrapped, with "[Pasted text #1]" for a long paste.
	Input string
}

var (
	choice  = regexp.MustCompile(`^\s*❯ +\d+\. `)
	spinner = regexp.MustCompile(`^[·✢✳✶✻✽*] \S.*…`)
	retry   = regexp.MustCompile(`^[·✢✳✶✻✽*] .*Retrying in`)
	ended   = regexp.MustCompile(`^[·✢✳✶✻✽*] \S+ for \d+`)
	hint    = regexp.MustCompile(`^Try ".*"?$`)
	dialog  = regexp.MustCompile(`(?i)(enter to (confirm|select|continue|set)|esc to (cancel|exit|go back)|↑/↓ to)`)
)

// ReadScreen reads the visible text of a terminal in which Claude Code runs, one line per row.
func ReadScreen(text string) Screen {
	rows := strings.Split(strings.ReplaceAll(text, "\u00a0", " "), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \r")
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 {
		return Screen{Kind: ScreenUnknown}
	}
	if strings.HasPrefix(rows[len(rows)-1], "Pane is dead") {
		return Screen{Kind: ScreenDead}
	}
	top, bottom, ok := findBox(rows)
	if !ok {
		return noBox(rows)
	}
	s := Screen{Box: true, Kind: kindOf(rows[:top], rows[bottom+1:], utf8.RuneCountInString(rows[bottom])), Input: boxText(rows[top+1 : bottom])}
	s.InputEmpty = s.Input == ""
	s.AtPrompt = s.Kind == ScreenIdle
	s.Stopped = s.AtPrompt && lastStopped(rows[:top])
	return s
}

func noBox(rows []string) Screen {
	for _, row := range rows {
		if choice.MatchString(row) || dialog.MatchString(row) {
			return Screen{Kind: ScreenAsking}
		}
	}
	return Screen{Kind: ScreenUnknown}
}

// findBox finds the input box: the lowest rule that is followed by a row with the prompt's sign, and the rule after it.
func findBox(rows []string) (top, bottom int, ok bool) {
	for top = len(rows) - 2; top >= 0; top-- {
		if !rule(rows[top]) || (!strings.HasPrefix(rows[top+1], "❯") && !strings.HasPrefix(rows[top+1], "!")) {
			continue
		}
		for bottom = top + 2; bottom < len(rows); bottom++ {
			if rule(rows[bottom]) {
				return top, bottom, true
			}
		}
	}
	return 0, 0, false
}

// rule tells a line drawn across the screen; a conversation's name may stand in it.
func rule(row string) bool {
	return strings.HasPrefix(row, "────") && strings.HasSuffix(row, "─") && strings.Count(row, "─") >= 12
}

func boxText(rows []string) string {
	text := make([]string, len(rows))
	for i, row := range rows {
		if i == 0 {
			row = strings.TrimPrefix(row, "❯")
		}
		text[i] = strings.TrimSpace(row)
	}
	s := strings.TrimSpace(strings.Join(text, "\n"))
	if s == "Press up to edit queued messages" || hint.MatchString(s) {
		return "" // shown in an empty box
	}
	return s
}

// nearBox is how many rows above the box are looked at: a spinner may have a tip of a few rows, and queued prompts,
// below it.
const nearBox = 15

// kindOf tells idle from busy by what is above and below the box.
func kindOf(above, below []string, width int) ScreenKind {
	if strings.Contains(strings.Join(below, "\n"), "esc to interrupt") {
		return ScreenBusy
	}
	above = above[max(len(above)-nearBox, 0):]
	over := -1 // the row that says that a Turn ended
	for i := len(above) - 1; i >= 0 && over < 0; i-- {
		if ended.MatchString(above[i]) {
			over = i
		} else if spinner.MatchString(above[i]) || retry.MatchString(above[i]) {
			return ScreenBusy
		}
	}
	if footerSaysIdle(below, width) || rowsSayIdle(above, over) {
		return ScreenIdle
	}
	return ScreenUnknown
}

// fullFooter is the width from which "esc to interrupt" is always shown while something runs, without a status line.
const fullFooter = 72

// footerSaysIdle takes a footer that would have said "esc to interrupt" as a sign. With a status line, the first row is
// not the footer, and the footer leaves the words out.
func footerSaysIdle(below []string, width int) bool {
	if len(below) == 0 || width < fullFooter {
		return false
	}
	first := strings.TrimSpace(below[0])
	return strings.HasPrefix(first, "? for shortcuts") || strings.Contains(first, "(shift+tab to cycle) · ← for agents")
}

// stopped tells the rows that say that a person stopped a Turn.
func stopped(row string) bool {
	return strings.Contains(row, "⎿  Interrupted") || strings.HasPrefix(row, "● User declined")
}

// lastStopped tells whether the last that is said above the box is that.
func lastStopped(above []string) bool {
	for i := len(above) - 1; i >= max(len(above)-nearBox, 0); i-- {
		switch row := above[i]; {
		case stopped(row):
			return true
		case strings.HasPrefix(row, "❯"), strings.HasPrefix(row, "●"), ended.MatchString(row):
			return false
		}
	}
	return false
}

// rowsSayIdle looks for a word above the box that says so: a Turn's end, an interrupt, a declined question, or the
// banner with no conversation below it.
func rowsSayIdle(above []string, over int) bool {
	banner := false
	for _, row := range above[over+1:] {
		switch {
		case stopped(row):
			over = 0
		case strings.HasPrefix(row, "❯"), strings.HasPrefix(row, "●"):
			over, banner = -1, false
		case strings.Contains(row, "▐▛███▜▌"):
			banner = true
		}
	}
	return over >= 0 || banner
}
