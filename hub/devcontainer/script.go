package devcontainer

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"claude-hub/internal/claudehub"
)

// commands run once when a container is made. Here they run when the Environment is built, which is before a Session
// clones the repository: the script says so where they stand.
func (r *reader) commands() {
	for _, name := range []string{"onCreateCommand", "updateContentCommand", "postCreateCommand"} {
		raw, ok := r.take(name)
		if !ok {
			continue
		}
		var parts map[string]json.RawMessage
		if json.Unmarshal(raw, &parts) == nil {
			for _, part := range sortedKeys(parts) {
				r.command(name+"."+part, parts[part])
			}
			continue
		}
		r.command(name, raw)
	}
}

// command is a line for a shell, or a program with its arguments.
func (r *reader) command(what string, raw json.RawMessage) {
	var line string
	if json.Unmarshal(raw, &line) != nil {
		var args []string
		if json.Unmarshal(raw, &args) != nil {
			r.no(what, "It is neither text nor a list of texts.")
			return
		}
		for i := range args {
			args[i] = quote(args[i])
		}
		line = strings.Join(args, " ")
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	line, ok := inSandbox(line)
	if !ok {
		r.no(what, "It asks for something of the machine around the container, which a Sandbox does not know.")
		return
	}
	fmt.Fprintf(&r.setup, "\n# From %s. This runs before a Session's repository is there: take out what needs its files.\n(\n%s\n)\n", shown(what), line)
	r.yes(what, "a part of the setup script, which runs before the repository is cloned")
}

// inSandbox replaces what names the workspace. What names the machine outside has no meaning here.
func inSandbox(s string) (string, bool) {
	s = strings.NewReplacer("${containerWorkspaceFolder}", workspace, "${containerWorkspaceFolderBasename}", path.Base(workspace)).Replace(s)
	return s, !strings.Contains(s, "${localEnv:") && !strings.Contains(s, "${localWorkspaceFolder") && !strings.Contains(s, "${devcontainerId}")
}

// features that stand in the repository are plain scripts; others would have to be fetched.
func (r *reader) features() {
	raw, ok := r.take("features")
	if !ok {
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		r.no("features", "It has to be an object in braces.")
		return
	}
	for _, id := range sortedKeys(all) {
		r.feature(id, all[id])
	}
}

func (r *reader) feature(id string, options json.RawMessage) {
	what := "feature " + id
	if r.setup.Len() > claudehub.MaxSetup {
		r.no(what, "There is too much before it for one setup script.")
		return
	}
	if !strings.HasPrefix(id, "./") {
		r.no(what, "It is fetched from a registry, which is not done here. Write what it installs into the setup script.")
		return
	}
	folder := path.Clean(strings.TrimPrefix(id, "./"))
	if _, ok := r.files[path.Join(folder, "install.sh")]; !ok || strings.HasPrefix(folder, "..") {
		r.no(what, "Its install.sh was not found beside devcontainer.json.")
		return
	}
	env, ok := r.optionsOf(folder, options)
	if !ok {
		r.no(what, "Its options are neither text nor an object in braces.")
		return
	}
	fmt.Fprintf(&r.setup, "\n# %s\nfeature=$(mktemp -d)\n", shown(what))
	for _, name := range sortedKeys(r.files) {
		if beside, ok := strings.CutPrefix(name, folder+"/"); ok {
			r.file(beside, r.files[name])
		}
	}
	fmt.Fprint(&r.setup, `(cd "$feature" && chmod +x install.sh && env _REMOTE_USER=root _CONTAINER_USER=root _REMOTE_USER_HOME=/root _CONTAINER_USER_HOME=/root`)
	for _, name := range sortedKeys(env) {
		fmt.Fprintf(&r.setup, " %s", quote(name+"="+env[name]))
	}
	fmt.Fprint(&r.setup, " ./install.sh)\nrm -rf \"$feature\"\n")
	r.yes(what, "a part of the setup script: its install.sh with its options")
}

// file writes a file of a feature, in the script.
func (r *reader) file(name, text string) {
	end := "END_OF_FILE"
	for strings.Contains(text, end) {
		end += "_"
	}
	if dir := path.Dir(name); dir != "." {
		fmt.Fprintf(&r.setup, "mkdir -p \"$feature\"/%s\n", quote(dir))
	}
	fmt.Fprintf(&r.setup, "cat > \"$feature\"/%s <<'%s'\n%s\n%s\n", quote(name), end, strings.TrimSuffix(text, "\n"), end)
}

// optionsOf are a feature's options as it finds them in its environment: what it says of itself, and what was chosen.
func (r *reader) optionsOf(folder string, raw json.RawMessage) (map[string]string, bool) {
	env := map[string]string{}
	var about struct {
		Options map[string]struct {
			Default any `json:"default"`
		} `json:"options"`
	}
	if text, ok := r.files[path.Join(folder, "devcontainer-feature.json")]; ok && decode(text, &about) {
		for name, o := range about.Options {
			if o.Default != nil {
				env[optionName(name)] = optionText(o.Default)
			}
		}
	}
	var chosen any
	if json.Unmarshal(raw, &chosen) != nil {
		return nil, false
	}
	switch chosen := chosen.(type) {
	case nil, bool:
	case string:
		env["VERSION"] = chosen
	case map[string]any:
		for name, v := range chosen {
			env[optionName(name)] = optionText(v)
		}
	default:
		return nil, false
	}
	maps.DeleteFunc(env, func(name, value string) bool { return strings.ContainsRune(value, 0) || !settingName.MatchString(name) })
	return env, true
}

var (
	notInName   = regexp.MustCompile(`[^A-Za-z0-9_]`)
	atBeginning = regexp.MustCompile(`^[0-9_]+`)
	settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func optionName(s string) string {
	return strings.ToUpper(atBeginning.ReplaceAllString(notInName.ReplaceAllString(s, "_"), "_"))
}

func optionText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// quote makes one word of a text, for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
