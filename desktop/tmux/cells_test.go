package tmux_test

import (
	"fmt"
	"slices"
	"strings"
)

// cells reads what capture-pane -e -N said into one text per line, in which each run of equal cells stands with its
// style and blank ends are cut: two screens that look alike give the same.
func cells(capture string) []string {
	style := map[string]string{}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(capture, "\n"), "\n") {
		var b strings.Builder
		last, kept := "", 0
		for len(line) > 0 {
			if params, rest, ok := sgr(line); ok {
				restyle(style, params)
				line = rest
				continue
			}
			r := []rune(line)[0]
			line = line[len(string(r)):]
			if r == 0x0e || r == 0x0f {
				style["acs"] = map[rune]string{0x0e: "on", 0x0f: ""}[r]
				continue
			}
			if now := describe(style); now != last {
				b.WriteString("<" + now + ">")
				last = now
			}
			b.WriteRune(r)
			if r != ' ' || last != "" {
				kept = b.Len()
			}
		}
		lines = append(lines, b.String()[:kept])
	}
	return lines
}

func sgr(line string) (params []string, rest string, ok bool) {
	body, ok := strings.CutPrefix(line, "\x1b[")
	if !ok {
		return nil, line, false
	}
	list, rest, _ := strings.Cut(body, "m")
	return strings.Split(list, ";"), rest, true
}

// restyle takes the forms that tmux writes in a capture.
func restyle(style map[string]string, params []string) {
	all := strings.Join(params, ";")
	for _, kind := range []struct{ name, first, none string }{{"fg", "3", "39"}, {"bg", "4", "49"}, {"us", "5", ""}} {
		if strings.HasPrefix(all, kind.first+"8;") {
			style[kind.name] = all
			return
		}
		if all == kind.none {
			style[kind.name] = ""
			return
		}
	}
	for _, p := range params {
		switch {
		case p == "0":
			acs := style["acs"]
			clear(style)
			style["acs"] = acs
		case strings.Contains(p, ":"):
			style["a"+p] = "on"
		case len(p) == 2 && (p[0] == '3' || p[0] == '9'):
			style["fg"] = p
		case len(p) == 2 && p[0] == '4' || len(p) == 3:
			style["bg"] = p
		default:
			style["a"+p] = "on"
		}
	}
}

func describe(style map[string]string) string {
	var parts []string
	for k, v := range style {
		if v != "" {
			parts = append(parts, fmt.Sprint(k, "=", v))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
