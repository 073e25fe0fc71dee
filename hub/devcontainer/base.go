package devcontainer

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"claude-hub/internal/claudehub"
)

// base is the image. What would have to be built from a Dockerfile is not: that takes a builder of its own.
func (r *reader) base() {
	for _, name := range []string{"build", "dockerFile", "dockerComposeFile"} {
		if _, ok := r.take(name); !ok {
			continue
		}
		switch name {
		case "dockerComposeFile":
			r.no(name, "A Session is one Sandbox, and not several containers. Run the services that it needs inside, from the setup script.")
		default:
			r.no(name, "A Dockerfile is not built here. Name the image of its FROM line as base, and write its RUN lines into the setup script; "+
				"or build it elsewhere and name the image that it gives.")
		}
	}
	image, ok := r.text("image")
	if !ok {
		return
	}
	with := r.seed.Recipe
	with.Base = claudehub.Base{Kind: claudehub.BaseRegistry, Ref: strings.TrimSpace(image)}
	if err := with.Check(); err != nil {
		r.no("image "+image, claudehub.MessageOf(err))
		return
	}
	r.seed.Recipe = with
	r.yes("image "+image, "the base image")
}

// requirements become the Sandbox's size, within what one can have.
func (r *reader) requirements() {
	raw, ok := r.take("hostRequirements")
	if !ok {
		return
	}
	var want map[string]json.RawMessage
	if json.Unmarshal(raw, &want) != nil {
		r.no("hostRequirements", "It has to be an object in braces.")
		return
	}
	for _, name := range sortedKeys(want) {
		what := "hostRequirements." + name
		switch name {
		case "cpus":
			n, ok := number(want[name])
			if !ok {
				r.no(what, "It is not a number.")
				continue
			}
			r.seed.Recipe.CPUs = int(min(max(math.Ceil(n), claudehub.MinCPUs), claudehub.MaxCPUs))
			r.yes(what, fmt.Sprintf("%d CPUs", r.seed.Recipe.CPUs))
		case "memory":
			r.size(what, want[name], &r.seed.Recipe.Memory, claudehub.MinMemory, claudehub.MaxMemory, "of memory")
		case "storage":
			r.size(what, want[name], &r.seed.Recipe.Disk, claudehub.MinDisk, claudehub.MaxDisk, "of disk")
		case "gpu":
			r.no(what, "A Sandbox has no graphics processor.")
		default:
			r.no(what, unknown)
		}
	}
}

func (r *reader) size(what string, raw json.RawMessage, to *int64, least, most int64, of string) {
	n, ok := size(raw)
	if !ok {
		r.no(what, "It is not a size: it looks like 8gb.")
		return
	}
	*to = int64(min(max(n, float64(least)), float64(most)))
	r.yes(what, fmt.Sprintf("%d MB %s", *to>>20, of))
}

var units = map[string]float64{"tb": 1 << 40, "gb": 1 << 30, "mb": 1 << 20, "kb": 1 << 10, "b": 1, "": 1}

// size reads "8gb", "512 mb", or a number of bytes.
func size(raw json.RawMessage) (float64, bool) {
	if n, ok := number(raw); ok {
		return n, true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0, false
	}
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "tgmkb ")
	unit, ok := units[strings.TrimSpace(s[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, false
	}
	return n * unit, true
}

// number reads a number, or text that is one.
func number(raw json.RawMessage) (float64, bool) {
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		return n, n >= 0
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}
