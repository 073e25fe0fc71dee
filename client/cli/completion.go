package cli

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// Completion is our own: the libraries for kong split the line at blanks and know no descriptions, so a title could be
// neither completed nor shown beside an id.

var (
	//go:embed completion.bash
	bashScript string
	//go:embed completion.zsh
	zshScript string
	//go:embed completion.fish
	fishScript string
)

// CompletionCmd prints a shell's script.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. Use it as: source <(claude-hub completion bash); for fish: claude-hub completion fish | source"`
}

// Run prints.
func (c *CompletionCmd) Run(e *Env) error {
	script := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	_, err := fmt.Fprint(e.Out, script)
	return err
}

// completeTime is how long a person waits for a Hub after pressing Tab.
const completeTime = 1500 * time.Millisecond

// CompleteCmd is what the scripts call: the words so far, the last of them unfinished. It answers a line for each way
// on, with what it means behind a tab, and is silent about everything that goes wrong.
type CompleteCmd struct {
	Words []string `arg:"" optional:""`
}

type choice struct{ word, means string }

// Run answers.
func (c *CompleteCmd) Run(ctx context.Context, e *Env, k *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	w := walk(k.Model.Node, words[:len(words)-1])
	last := words[len(words)-1]
	var out []choice
	switch {
	case w.flag != nil:
		out = e.values(ctx, w, w.flag.Value, last)
	case strings.HasPrefix(last, "-"):
		if name, value, ok := strings.Cut(last, "="); ok {
			if f := findFlag(w.node, name); f != nil {
				for _, v := range e.values(ctx, w, f.Value, value) {
					out = append(out, choice{name + "=" + v.word, v.means})
				}
			}
			break
		}
		out = flagChoices(w.node)
	default:
		for _, n := range w.node.Children {
			if !n.Hidden {
				out = append(out, choice{n.Name, n.Help})
			}
		}
		if w.place < len(w.node.Positional) {
			out = append(out, e.values(ctx, w, w.node.Positional[w.place], last)...)
		}
	}
	for _, o := range out {
		if strings.HasPrefix(o.word, last) {
			fmt.Fprintf(e.Out, "%s\t%s\n", clean(o.word), clean(o.means))
		}
	}
	return nil
}

// walked is how far the finished words lead into the commands.
type walked struct {
	node  *kong.Node
	place int        // which positional argument is next
	flag  *kong.Flag // that waits for its value
	hub   string
}

func walk(n *kong.Node, words []string) walked {
	w := walked{node: n}
	for _, word := range words {
		switch {
		case w.flag != nil:
			if w.flag.Name == "hub" {
				w.hub = word
			}
			w.flag = nil
		case strings.HasPrefix(word, "-"):
			name, value, has := strings.Cut(word, "=")
			f := findFlag(w.node, name)
			if f != nil && !has && !f.IsBool() && !f.IsCounter() {
				w.flag = f
			}
			if f != nil && has && f.Name == "hub" {
				w.hub = value
			}
		default:
			i := slices.IndexFunc(w.node.Children, func(c *kong.Node) bool { return c.Name == word })
			if i < 0 {
				w.place++
				break
			}
			w.node, w.place = w.node.Children[i], 0
		}
	}
	return w
}

func findFlag(n *kong.Node, name string) *kong.Flag {
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func flagChoices(n *kong.Node) []choice {
	var out []choice
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden {
				out = append(out, choice{"--" + f.Name, f.Help})
			}
		}
	}
	return out
}

// values are what an argument or a flag's value may be.
func (e *Env) values(ctx context.Context, w walked, v *kong.Value, last string) []choice {
	if v.Enum != "" {
		var out []choice
		for _, s := range v.EnumSlice() {
			out = append(out, choice{word: s})
		}
		return out
	}
	kind := v.Tag.Get("complete")
	switch kind {
	case "":
		return nil
	case "model":
		return plain(claudehub.Models)
	case "effort":
		return plain(claudehub.Efforts)
	case "scope":
		return plain(claudehub.Scopes)
	}
	c, err := Target{Hub: w.hub}.orEnv(e).open(e)
	if err != nil {
		return nil
	}
	defer c.Close()
	return ask(ctx, c, kind, w.node.Name, last)
}

func (t Target) orEnv(e *Env) Target {
	if t.Hub == "" {
		t.Hub = e.Getenv("CLAUDE_HUB_URL")
	}
	return t
}

func plain[S ~string](all []S) []choice {
	out := make([]choice, len(all))
	for i, s := range all {
		out[i].word = string(s)
	}
	return out
}

func ask(ctx context.Context, c *client.Client, kind, verb, last string) []choice {
	var out []choice
	switch kind {
	case "session":
		all, _ := c.Sessions(ctx, verb == "unarchive")
		for _, s := range all {
			out = both(out, string(s.ID), s.Title, last)
		}
	case "runner":
		all, _ := c.Runners(ctx)
		for _, r := range all {
			out = both(out, string(r.ID), r.Name, last)
		}
	case "token":
		all, _ := c.Tokens(ctx)
		for _, t := range all {
			out = both(out, t.ID, t.Name, last)
		}
	}
	return out
}

// both offers an id, and its name once the person has begun to type that.
func both(out []choice, id, name, last string) []choice {
	out = append(out, choice{id, name})
	if last != "" && name == clean(name) {
		out = append(out, choice{name, id})
	}
	return out
}
