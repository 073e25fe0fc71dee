package claudehub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Environment is a named, versioned recipe for Sandboxes. Its newest version is what new Sessions start on.
type Environment struct {
	ID       EnvironmentID `json:"id"`
	Owner    PersonID      `json:"owner"`
	Name     string        `json:"name"`
	Version  int           `json:"version" doc:"the newest; 1, 2, 3 …"`
	Recipe   Recipe        `json:"recipe" doc:"of the newest version"`
	Archived bool          `json:"archived"`
	Created  time.Time     `json:"created"`
	Updated  time.Time     `json:"updated"`
}

// EnvironmentVersion is a recipe as it was saved. It never changes.
type EnvironmentVersion struct {
	Version int       `json:"version"`
	Recipe  Recipe    `json:"recipe"`
	By      PersonID  `json:"by"`
	Created time.Time `json:"created"`
}

// EnvironmentRef is the version of an Environment that a Session is to run on.
type EnvironmentRef struct {
	ID      EnvironmentID `json:"id"`
	Version int           `json:"version"`
	Name    string        `json:"name" doc:"as it is called now; for people"`
}

// Recipe says how a Sandbox is made.
type Recipe struct {
	Base   Base   `json:"base"`
	Setup  string `json:"setup" doc:"a shell script, run once as root when the Environment is built"`
	CPUs   int    `json:"cpus"`
	Memory int64  `json:"memory" doc:"bytes"`
	// Disk bounds a Session's workspace and configuration together, and the Sandbox's own system.
	Disk    int64         `json:"disk" doc:"bytes"`
	Network NetworkPolicy `json:"network" enum:"open,internet,allow-list"`
	Allow   []string      `json:"allow" doc:"with allow-list: host names, *.example.org, each with an optional :port"`
}

// BaseKind says where a base image comes from.
type BaseKind string

// The kinds of base.
const (
	// BaseDefault is what the Runner offers: its own default image, or with bubblewrap the machine's own system.
	BaseDefault BaseKind = "default"
	// BaseRegistry is an image of a container registry: "debian:bookworm", "ghcr.example/owner/name@sha256:…".
	BaseRegistry BaseKind = "registry"
	// BaseArchive is a file on the Runner's machine, as "docker save" or an OCI layout's tar makes it.
	BaseArchive BaseKind = "archive"
	// BaseDirectory is a root filesystem in a folder on the Runner's machine. It is copied, never changed.
	BaseDirectory BaseKind = "directory"
)

// Base is the system that a setup script starts from.
type Base struct {
	Kind BaseKind `json:"kind" enum:"default,registry,archive,directory"`
	Ref  string   `json:"ref,omitempty" doc:"an image's name, or an absolute path on the Runner's machine"`
}

// NetworkPolicy says what a Sandbox may reach.
type NetworkPolicy string

// The policies.
const (
	// NetworkOpen is everything that the machine can reach, its own network and itself included.
	NetworkOpen NetworkPolicy = "open"
	// NetworkInternet is the internet, and neither the machine's own network nor the machine, but for the relay.
	NetworkInternet NetworkPolicy = "internet"
	// NetworkAllowList is what the recipe names, and the relay.
	NetworkAllowList NetworkPolicy = "allow-list"
)

// Bounds of a recipe. What a machine does not have, its Runner refuses.
const (
	MaxSetup           = 256 << 10 // bytes
	MaxEnvironmentName = 60        // runes
	MinCPUs            = 1
	MaxCPUs            = 64
	MinMemory          = 512 << 20
	MaxMemory          = 256 << 30
	MinDisk            = 1 << 30
	MaxDisk            = 1 << 40
	MaxAllow           = 200
	MaxEnvironments    = 200 // of one person, that are not archived
)

// DefaultRecipe is what a Session without an Environment runs on, and what a new Environment begins with.
func DefaultRecipe() Recipe {
	return Recipe{Base: Base{Kind: BaseDefault}, CPUs: 2, Memory: 4 << 30, Disk: 20 << 30, Network: NetworkOpen, Allow: []string{}}
}

// tools names what is ensured in every build. Another list makes other images.
const tools = "tmux git gh ca-certificates; 1"

// Hash names what a recipe builds, for caching: recipes that differ only in what a Sandbox may take or reach share it.
// It is 32 hexadecimal digits.
func (r Recipe) Hash() string {
	b, err := json.Marshal(struct {
		Base         Base
		Setup, Tools string
	}{r.Base, r.Setup, tools})
	if err != nil {
		panic("a recipe is plain data: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Builds tells whether there is anything to build: without a base of its own and a script, a recipe is its limits.
func (r Recipe) Builds() bool { return r.Base.Kind != BaseDefault || strings.TrimSpace(r.Setup) != "" }

// ValidEnvironmentName refuses what would not fit on a line.
func ValidEnvironmentName(s string) error {
	if strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > MaxEnvironmentName || !printable(s) {
		return Errorf(Invalid, "An Environment's name is one line of 1 to %d characters.", MaxEnvironmentName)
	}
	return nil
}

// Check refuses a recipe that could not be built anywhere, with what is wrong and what would do.
func (r Recipe) Check() error {
	switch {
	case len(r.Setup) > MaxSetup:
		return Errorf(TooLarge, "The setup script has %d KB; at most %d KB fit. Fetch the rest from within it.", len(r.Setup)>>10, MaxSetup>>10)
	case !utf8.ValidString(r.Setup) || strings.ContainsRune(r.Setup, 0):
		return Errorf(Invalid, "The setup script is not plain text.")
	case r.CPUs < MinCPUs || r.CPUs > MaxCPUs:
		return Errorf(Invalid, "A Sandbox needs %d to %d CPUs, not %d.", MinCPUs, MaxCPUs, r.CPUs)
	case r.Memory < MinMemory:
		return Errorf(Invalid, "A Sandbox needs at least %d MB of memory: Claude Code alone takes about 400.", MinMemory>>20)
	case r.Memory > MaxMemory:
		return Errorf(Invalid, "A Sandbox can have at most %d GB of memory.", MaxMemory>>30)
	case r.Disk < MinDisk || r.Disk > MaxDisk:
		return Errorf(Invalid, "A Sandbox needs between %d and %d GB of disk.", MinDisk>>30, MaxDisk>>30)
	}
	if err := r.Base.check(); err != nil {
		return err
	}
	return r.checkNetwork()
}

// imageName is a reference as registries take it: host, path, tag, digest. It begins with a letter or digit, so that it
// can never be read as an option.
var imageName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*(@sha256:[a-f0-9]{64})?$`)

func (b Base) check() error {
	switch b.Kind {
	case BaseDefault:
		if b.Ref != "" {
			return Errorf(Invalid, "The default base has no name of its own. Choose what kind of base %q is.", shorten(b.Ref))
		}
		return nil
	case BaseRegistry:
		if len(b.Ref) > 400 || !imageName.MatchString(b.Ref) {
			return Errorf(Invalid, "%q is not an image's name. It looks like debian:bookworm or registry.example.org/team/image:tag.", shorten(b.Ref))
		}
		return nil
	case BaseArchive, BaseDirectory:
		if len(b.Ref) > 1000 || !strings.HasPrefix(b.Ref, "/") || !printable(b.Ref) {
			return Errorf(Invalid, "%q is not an absolute path on the Runner's machine.", shorten(b.Ref))
		}
		return nil
	default:
		return Errorf(Invalid, "There is no kind of base called %q. Choose default, registry, archive or directory.", shorten(string(b.Kind)))
	}
}

var allowedHost = regexp.MustCompile(`^(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)

func (r Recipe) checkNetwork() error {
	switch r.Network {
	case NetworkOpen, NetworkInternet, NetworkAllowList:
	default:
		return Errorf(Invalid, "There is no network policy called %q. Choose open, internet or allow-list.", shorten(string(r.Network)))
	}
	if len(r.Allow) > MaxAllow {
		return Errorf(Invalid, "An allow-list has at most %d hosts.", MaxAllow)
	}
	for _, h := range r.Allow {
		if len(h) > 260 || !allowedHost.MatchString(h) {
			return Errorf(Invalid, "%q is not a host for an allow-list. It looks like example.org, *.example.org or example.org:443.", shorten(h))
		}
	}
	return nil
}

// Variable is an environment variable of an Environment or a Repo, as people see it: a secret one has no value.
type Variable struct {
	Name    string    `json:"name"`
	Secret  bool      `json:"secret"`
	Value   string    `json:"value" doc:"empty for a secret: it is write-only"`
	Bytes   int       `json:"bytes" doc:"how long the value is"`
	By      PersonID  `json:"by"`
	Updated time.Time `json:"updated"`
}

// Bounds of Variables. Linux takes 128 KB for one, name included; all of a Session's travel in one message.
const (
	MaxVariableName  = 128
	MaxVariableValue = 96 << 10
	MaxVariables     = 200
	MaxVariableTotal = 512 << 10
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that govern the Sandbox or Claude Code itself, with the reason that a person is told.
var reserved = []struct {
	why   string
	names []string // exact, or a beginning when it ends with '*'
}{
	{"it decides which programs run", []string{"PATH", "LD_*", "DYLD_*", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "BASH_FUNC_*"}},
	{"the Sandbox sets it", []string{"HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "TERM", "TMPDIR", "TMUX*", "IS_SANDBOX", "CLAUDE_HUB_*"}},
	{"it decides how Claude Code starts, and the Session's own settings do that", []string{
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "DISABLE_AUTOUPDATER", "CLAUDE_ENV_FILE"}},
	{"Claude Code signs in with the setup token of the Runner's owner, and to where the Runner says", []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"}},
}

// ValidVariable refuses a name that no process could have or that would break the Sandbox, and a value that would not fit.
func ValidVariable(name, value string) error {
	switch {
	case name == "" || len(name) > MaxVariableName || !variableName.MatchString(name):
		return Errorf(Invalid, "%q is not a Variable's name. Use letters, digits and '_', and no digit first; at most %d.", shorten(name), MaxVariableName)
	case len(value) > MaxVariableValue:
		return Errorf(TooLarge, "%s has %d KB; a Variable holds at most %d KB. Put large things into a file, in the setup script.", name, len(value)>>10, MaxVariableValue>>10)
	case strings.ContainsRune(value, 0):
		return Errorf(Invalid, "The value of %s has a zero byte, which no environment can hold.", name)
	}
	upper := strings.ToUpper(name)
	for _, r := range reserved {
		if slices.ContainsFunc(r.names, func(n string) bool {
			beginning, open := strings.CutSuffix(n, "*")
			return upper == n || open && strings.HasPrefix(upper, beginning)
		}) {
			return Errorf(Invalid, "%s cannot be a Variable: %s.", name, r.why)
		}
	}
	return nil
}

// RepoOf names the repository of a source, the same for each way to write it: "github.com/owner/name", in lower case.
// It is "" for no source. A name that it gave names itself.
func RepoOf(s Source) string {
	u := strings.ToLower(strings.TrimSpace(s.GitURL))
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	} else if strings.Contains(u, "@") {
		u = strings.Replace(u, ":", "/", 1) // user@host:path
	}
	if at := strings.IndexByte(u, '@'); at >= 0 && at < strings.IndexByte(u+"/", '/') {
		u = u[at+1:]
	}
	return strings.TrimSuffix(strings.TrimRight(u, "/"), ".git")
}
