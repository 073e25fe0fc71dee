package devcontainer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/jsonc"

	"claude-hub/internal/claudehub"
)

const unknown = "It is not known here."

// settings are environment variables. They are suggested and not set: one may be a secret, and whoever saves the
// Environment decides that.
func (r *reader) settings() {
	for _, name := range []string{"containerEnv", "remoteEnv"} {
		raw, ok := r.take(name)
		if !ok {
			continue
		}
		var all map[string]*string
		if json.Unmarshal(raw, &all) != nil {
			r.no(name, "It has to be an object in braces, with texts.")
			continue
		}
		for _, key := range sortedKeys(all) {
			if all[key] != nil {
				r.setting(name+"."+key, key, *all[key])
			}
		}
	}
}

func (r *reader) setting(what, name, value string) {
	value, ok := inSandbox(value)
	if err := claudehub.ValidVariable(name, value); err != nil {
		r.no(what, claudehub.MessageOf(err))
		return
	}
	if !ok || strings.Contains(value, "${") {
		r.no(what, "Its value is made of another variable. Set the Variable with the value itself.")
		return
	}
	if len(r.seed.Variables) >= claudehub.MaxVariables {
		r.no(what, fmt.Sprintf("There are %d already, which is the most.", claudehub.MaxVariables))
		return
	}
	r.seed.Variables = slices.DeleteFunc(r.seed.Variables, func(s SuggestedSetting) bool { return s.Name == name })
	r.seed.Variables = append(r.seed.Variables, SuggestedSetting{name, value})
	r.yes(what, "a Variable that is suggested; it is not set")
}

// ports are a Session's own, and not an Environment's.
func (r *reader) ports() {
	raw, ok := r.take("forwardPorts")
	if !ok {
		return
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		r.no("forwardPorts", "It has to be a list.")
		return
	}
	for _, v := range all {
		text := strings.Trim(string(v), `"`)
		n, err := strconv.Atoi(strings.TrimPrefix(text, "localhost:"))
		switch {
		case err != nil || n < 1 || n > 65535:
			r.no("forwardPorts "+text, "Only ports of the Sandbox itself can be forwarded.")
		case slices.Contains(r.seed.Ports, n):
		case len(r.seed.Ports) >= claudehub.MaxForwards:
			r.no("forwardPorts "+text, fmt.Sprintf("At most %d ports of a Session can be forwarded.", claudehub.MaxForwards))
		default:
			r.seed.Ports = append(r.seed.Ports, n)
			r.yes("forwardPorts "+text, "a port that is suggested: forward it on the Session's page")
		}
	}
}

// reasons say why a known property does not count.
var reasons = map[string]string{
	"$schema":                     "",
	"initializeCommand":           "It runs on the machine outside, which a repository may not.",
	"postStartCommand":            "It would run at each start; a Sandbox starts Claude alone. Ask Claude for it, or put it into a script of the repository.",
	"postAttachCommand":           "It would run at each look; a Sandbox starts Claude alone.",
	"waitFor":                     "An Environment is built before a Session starts.",
	"customizations":              "It is for editors.",
	"extensions":                  "It is for an editor.",
	"settings":                    "It is for an editor.",
	"portsAttributes":             "A port is forwarded on the Session's page, as it is.",
	"otherPortsAttributes":        "A port is forwarded on the Session's page, as it is.",
	"appPort":                     "A port is forwarded on the Session's page.",
	"remoteUser":                  "What runs in a Sandbox runs as the Sandbox's own user.",
	"containerUser":               "What runs in a Sandbox runs as the Sandbox's own user.",
	"updateRemoteUserUID":         "What runs in a Sandbox runs as the Sandbox's own user.",
	"userEnvProbe":                "Claude's environment is the Session's Variables.",
	"mounts":                      "A Sandbox sees nothing of the machine but its workspace.",
	"workspaceMount":              "The repository is cloned to " + workspace + ".",
	"workspaceFolder":             "The repository is cloned to " + workspace + ".",
	"runArgs":                     "It is for Docker, which is not used.",
	"overrideCommand":             "It is for Docker, which is not used.",
	"shutdownAction":              "A Session sleeps and wakes by its own buttons.",
	"init":                        "A Sandbox has its own first process.",
	"privileged":                  "A Sandbox gives no privileges on the machine.",
	"capAdd":                      "A Sandbox gives no privileges on the machine.",
	"securityOpt":                 "A Sandbox gives no privileges on the machine.",
	"overrideFeatureInstallOrder": "Features are installed by their names.",
	"secrets":                     "Set them as secret Variables of the Environment.",
	"service":                     "There is one Sandbox, without services beside it.",
	"runServices":                 "There is one Sandbox, without services beside it.",
	"context":                     "It belongs to a Dockerfile, which is not built here.",
}

// rest says of everything that was not looked at why it does not count.
func (r *reader) rest() {
	for _, name := range sortedKeys(r.props) {
		why, known := reasons[name]
		if !known {
			why = unknown
		}
		if why != "" && string(r.props[name]) != "null" {
			r.no(name, why)
		}
	}
}

// decode reads JSON with comments.
func decode(text string, to any) bool {
	return json.Unmarshal(jsonc.ToJSON([]byte(text)), to) == nil
}
