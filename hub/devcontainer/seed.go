package devcontainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/jsonc"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Seed is what an Environment can begin with.
type Seed struct {
	Name          string             `json:"name"`
	Recipe        claudehub.Recipe   `json:"recipe"`
	Understood    []Understood       `json:"understood"`
	NotUnderstood []NotUnderstood    `json:"not_understood"`
	Variables     []SuggestedSetting `json:"variables" doc:"suggested; none is set"`
	Ports         []int              `json:"ports" doc:"suggested; forward them on a Session's page"`
}

// Understood is a property that counts.
type Understood struct {
	What   string `json:"what" doc:"the property, as the file has it"`
	Became string `json:"became"`
}

// NotUnderstood is a property that does not count.
type NotUnderstood struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// SuggestedSetting is an environment variable that the file asks for.
type SuggestedSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	workspace = "/workspace" // where a Session's files are
	maxShown  = 200          // bytes of a text that is shown
	maxListed = 200          // of each list
)

// reader is one reading.
type reader struct {
	seed  Seed
	props map[string]json.RawMessage
	files map[string]string // by their cleaned path beside the file
	setup strings.Builder
}

// Read reads a development container's description: JSON with comments.
func Read(d wire.Devcontainer) (Seed, error) {
	clean := jsonc.ToJSON([]byte(d.JSON)) // keeps every offset
	r := &reader{files: map[string]string{}, seed: Seed{Recipe: claudehub.DefaultRecipe(), Understood: []Understood{},
		NotUnderstood: []NotUnderstood{}, Variables: []SuggestedSetting{}, Ports: []int{}}}
	if err := json.Unmarshal(clean, &r.props); err != nil {
		return Seed{}, notJSON(d, clean, err)
	}
	if r.props == nil {
		return Seed{}, claudehub.Errorf(claudehub.Invalid, "There is no development container in that file: it has to be an object in braces.")
	}
	for name, text := range d.Files {
		r.files[path.Clean(strings.TrimPrefix(name, "./"))] = text
	}
	for _, read := range []func(){r.name, r.base, r.features, r.commands, r.settings, r.requirements, r.ports, r.rest} {
		read()
	}
	r.finish()
	if err := r.seed.Recipe.Check(); err != nil {
		return Seed{}, err
	}
	return r.seed, nil
}

func notJSON(d wire.Devcontainer, clean []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(clean[:min(int(syntax.Offset), len(clean))], []byte("\n"))
		return claudehub.Errorf(claudehub.Invalid, "%s is not JSON with comments: something is wrong in line %d.", called(d.Path), line)
	}
	return claudehub.Errorf(claudehub.Invalid, "%s does not describe a development container: it has to be an object in braces.", called(d.Path))
}

func called(p string) string {
	if p == "" {
		return "The file"
	}
	return shown(p)
}

// take gives a property, which then counts as looked at.
func (r *reader) take(name string) (json.RawMessage, bool) {
	v, ok := r.props[name]
	delete(r.props, name)
	return v, ok && !bytes.Equal(v, []byte("null"))
}

// text gives a property that has to be a string; another kind of value is not understood.
func (r *reader) text(name string) (string, bool) {
	v, ok := r.take(name)
	if !ok {
		return "", false
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		r.no(name, "It has to be text.")
		return "", false
	}
	return s, true
}

func (r *reader) yes(what, became string) {
	if len(r.seed.Understood) < maxListed {
		r.seed.Understood = append(r.seed.Understood, Understood{shown(what), became})
	}
}

func (r *reader) no(what, why string) {
	if len(r.seed.NotUnderstood) < maxListed {
		r.seed.NotUnderstood = append(r.seed.NotUnderstood, NotUnderstood{shown(what), why})
	}
}

func (r *reader) name() {
	name, ok := r.text("name")
	name = shown(name)
	if runes := []rune(name); len(runes) > claudehub.MaxEnvironmentName {
		name = strings.TrimSpace(string(runes[:claudehub.MaxEnvironmentName]))
	}
	if ok && claudehub.ValidEnvironmentName(name) == nil {
		r.seed.Name = name
		r.yes("name", "the Environment's name")
		return
	}
	r.seed.Name = "Devcontainer"
	if ok {
		r.no("name", "It is not one line of text.")
	}
}

// finish puts the script together.
func (r *reader) finish() {
	body := r.setup.String()
	if body == "" {
		return
	}
	script := "set -eu\n" + body
	if len(script) > claudehub.MaxSetup || strings.ContainsRune(script, 0) || !utf8.ValidString(script) {
		r.seed.NotUnderstood = slices.Insert(r.seed.NotUnderstood, 0, NotUnderstood{"the commands and features together",
			"They are too much for a setup script, or not plain text. Write what is needed by hand."})
		return
	}
	r.seed.Recipe.Setup = script
}

// shown is a stranger's text as a page may show it: short, on one line.
func shown(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, s)
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return strings.TrimSpace(s)
}
