package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

// Script says what the stand-in answers. The package doc shows the file's form.
type Script struct {
	Expect  Expect `json:"expect"`
	Rules   []Rule `json:"rules"`
	Default []Step `json:"default"`
}

// Expect holds regular expressions over what every prompt's request must carry; an empty one expects nothing.
type Expect struct {
	Model  string `json:"model"`
	Effort string `json:"effort"`

	model, effort *regexp.Regexp
}

// Rule answers the prompts that it matches. With neither Contains nor Matches it matches all.
type Rule struct {
	Name     string `json:"name"`
	Contains string `json:"contains"`
	Matches  string `json:"matches"` // a regular expression
	Steps    []Step `json:"steps"`

	matches *regexp.Regexp
}

// Step is one thing that an answer does: exactly one of Say, Tool, Hang, Error and Cut is set.
type Step struct {
	Say     string `json:"say,omitempty"`
	Repeat  int    `json:"repeat,omitempty"`  // say it this often; 0 is once
	Chunk   int    `json:"chunk,omitempty"`   // cut each saying into pieces of so many characters; 0 is one piece
	DelayMS int    `json:"delayMs,omitempty"` // wait before each piece

	Tool  string          `json:"tool,omitempty"` // call a tool of this name
	Input json.RawMessage `json:"input,omitempty"`

	Hang string `json:"hang,omitempty"` // wait until this name is released

	Error   int    `json:"error,omitempty"` // an HTTP status; inside a stream that has begun, an error event
	Times   int    `json:"times,omitempty"` // the error is given to so many requests of a prompt; 0 is all
	Message string `json:"message,omitempty"`

	Cut bool `json:"cut,omitempty"` // break the connection
}

func (s Step) delay() time.Duration { return time.Duration(s.DelayMS) * time.Millisecond }

// Echo is the script that repeats what the person said.
func Echo() *Script {
	return &Script{Default: []Step{{Say: "stand-in: you said: ${prompt}"}}}
}

// LoadScript reads a script file.
func LoadScript(path string) (*Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	s, err := ParseScript(b)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// ParseScript reads a script; a misspelt field is an error.
func ParseScript(b []byte) (*Script, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	s := &Script{}
	if err := dec.Decode(s); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end of the script")
	}
	return s, s.compile()
}

// compile checks the script and prepares its regular expressions.
func (s *Script) compile() error {
	var err error
	if s.Expect.model, err = optional(s.Expect.Model); err != nil {
		return fmt.Errorf("expect.model: %w", err)
	}
	if s.Expect.effort, err = optional(s.Expect.Effort); err != nil {
		return fmt.Errorf("expect.effort: %w", err)
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", i+1)
		}
		if r.matches, err = optional(r.Matches); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		if err := checkSteps(r.Steps); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	if len(s.Default) == 0 {
		s.Default = Echo().Default
	}
	if err := checkSteps(s.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

func optional(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	return regexp.Compile(expr)
}

func checkSteps(steps []Step) error {
	if len(steps) == 0 {
		return errors.New("no steps")
	}
	for i, s := range steps {
		kinds := 0
		for _, set := range []bool{s.Say != "", s.Tool != "", s.Hang != "", s.Error != 0, s.Cut} {
			if set {
				kinds++
			}
		}
		switch {
		case kinds != 1:
			return fmt.Errorf("step %d: exactly one of say, tool, hang, error and cut is needed", i+1)
		case s.Error != 0 && http.StatusText(s.Error) == "" && s.Error != 529:
			return fmt.Errorf("step %d: %d is not a status", i+1, s.Error)
		case s.Repeat < 0 || s.Chunk < 0 || s.DelayMS < 0 || s.Times < 0:
			return fmt.Errorf("step %d: a number is negative", i+1)
		}
	}
	return nil
}

// pick returns the rule that answers a prompt.
func (s *Script) pick(prompt string) Rule {
	for _, r := range s.Rules {
		if r.Contains != "" && !strings.Contains(prompt, r.Contains) {
			continue
		}
		if r.matches != nil && !r.matches.MatchString(prompt) {
			continue
		}
		return r
	}
	return Rule{Name: "default", Steps: s.Default}
}

// answerSteps returns the steps of a rule's n-th answer. An answer ends with its tools: what follows them is said once
// their results have come. Past the last answer it is empty.
func (r Rule) answerSteps(n int) []Step {
	start := 0
	for i := 1; i <= len(r.Steps); i++ {
		ends := i == len(r.Steps) || (r.Steps[i-1].Tool != "" && r.Steps[i].Tool == "")
		if !ends {
			continue
		}
		if n == 0 {
			return r.Steps[start:i]
		}
		n--
		start = i
	}
	return nil
}
