package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// request is what the stand-in understands of a call of /v1/messages.
type request struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Tools        []json.RawMessage `json:"tools"`
	Messages     []message         `json:"messages"`
	OutputConfig struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string `json:"type"`
			Schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; a plain string, which the API allows too, becomes one text block.
type content []block

type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Content content `json:"content"` // of a tool_result
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	return json.Unmarshal(b, (*[]block)(c))
}

func parseRequest(b []byte) (*request, error) {
	r := &request{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	return r, nil
}

// aside tells whether this is one of Claude Code's own small questions (a title for the conversation), which comes
// without tools and is not the person's prompt.
func (r *request) aside() bool { return len(r.Tools) == 0 }

// said returns the texts of a user message that a person wrote, oldest first. There may be several: after a failed
// answer Claude Code puts the next prompt into the same message. Its own additions each come as a block in a tag.
func (m message) said() []string {
	if m.Role != "user" {
		return nil
	}
	var texts []string
	for _, b := range m.Content {
		if text := strings.TrimSpace(b.Text); b.Type == "text" && !ownText(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func ownText(text string) bool {
	for _, tag := range []string{"<system-reminder>", "<local-command-", "<command-name>", "<command-message>", "[Request interrupted by user"} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return text == ""
}

// prompt returns the newest text of the person, how many answers with tools followed it, and how often the same text
// stands in the whole conversation (more than once means that it was sent twice).
func (r *request) prompt() (text string, answered, occurrences int) {
	at := -1
	for i, m := range r.Messages {
		if said := m.said(); len(said) > 0 {
			text, at = said[len(said)-1], i
		}
	}
	if at < 0 {
		return "", 0, 0
	}
	for _, m := range r.Messages[at+1:] {
		if m.Role == "user" && m.hasResult() {
			answered++
		}
	}
	for _, m := range r.Messages {
		for _, said := range m.said() {
			if said == text {
				occurrences++
			}
		}
	}
	return text, answered, occurrences
}

func (m message) hasResult() bool {
	for _, b := range m.Content {
		if b.Type == "tool_result" {
			return true
		}
	}
	return false
}

// result returns the text of the newest tool result.
func (r *request) result() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		for j := len(r.Messages[i].Content) - 1; j >= 0; j-- {
			b := r.Messages[i].Content[j]
			if b.Type != "tool_result" {
				continue
			}
			var parts []string
			for _, c := range b.Content {
				parts = append(parts, c.Text)
			}
			return strings.Join(parts, "\n")
		}
	}
	return ""
}

// turns counts the messages of the conversation so far, which shows whether a resumed one kept its history.
func (r *request) turns() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.said())
	}
	return n
}
