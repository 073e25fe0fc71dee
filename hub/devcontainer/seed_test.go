package devcontainer_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/devcontainer"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func read(t testing.TB, json string, files map[string]string) devcontainer.Seed {
	t.Helper()
	s, err := devcontainer.Read(wire.Devcontainer{Path: ".devcontainer/devcontainer.json", JSON: json, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// notUnderstood gives the reason, or fails.
func notUnderstood(t testing.TB, s devcontainer.Seed, what string) string {
	t.Helper()
	for _, n := range s.NotUnderstood {
		if n.What == what {
			return n.Why
		}
	}
	t.Errorf("%s is not among the %d that were not understood", what, len(s.NotUnderstood))
	return ""
}

func understood(t testing.TB, s devcontainer.Seed, what string) {
	t.Helper()
	for _, u := range s.Understood {
		if u.What == what {
			return
		}
	}
	t.Errorf("%s is not among what was understood: %+v, %+v", what, s.Understood, s.NotUnderstood)
}

const whole = `// with comments
{
	"$schema": "x",
	"name": "Node /* no comment */ & TypeScript",
	"image": "mcr.example/devcontainers/typescript-node:1-22-bookworm", // the base
	/* commands, in all three forms */
	"onCreateCommand": "cd /tmp && echo 'on create'",
	"updateContentCommand": ["npm", "ci", "it's"],
	"postCreateCommand": {"one": "npm run build", "two": ["echo", "two"]},
	"features": {
		"ghcr.io/devcontainers/features/go:1": {"version": "latest"},
		"./tool": {"version": "1.2", "installIt": true},
		"./missing": {},
	},
	"containerEnv": {"NODE_ENV": "development", "PATH": "/x:${containerEnv:PATH}", "HERE": "${containerWorkspaceFolder}/a", "THERE": "${localEnv:HOME}"},
	"remoteEnv": {"TOKEN": null, "NODE_ENV": "test"},
	"hostRequirements": {"cpus": 4, "memory": "8gb", "storage": "32 GB", "gpu": "optional", "strange": 1},
	"forwardPorts": [3000, "localhost:8080", "db:5432", 3000, 0],
	"remoteUser": "node",
	"customizations": {"vscode": {}},
	"mounts": ["x"],
	"whatIsThis": 1,
}`

func TestAWholeFile(t *testing.T) {
	s := read(t, whole, map[string]string{
		"tool/install.sh": "#!/bin/sh\necho \"$VERSION $INSTALLIT $MODE\"\n", "./tool/lib/a.txt": "data",
		"tool/devcontainer-feature.json": `{"options": {"mode": {"default": "fast"}, "version": {"default": "0"}}} // c`,
	})
	want := claudehub.DefaultRecipe()
	want.Base = claudehub.Base{Kind: claudehub.BaseRegistry, Ref: "mcr.example/devcontainers/typescript-node:1-22-bookworm"}
	if s.Name != "Node /* no comment */ & TypeScript" || s.Recipe.Base != want.Base || s.Recipe.CPUs != 4 || s.Recipe.Memory != 8<<30 || s.Recipe.Disk != 32<<30 {
		t.Errorf("%q %+v", s.Name, s.Recipe)
	}
	for _, what := range []string{"name", "feature ./tool", "onCreateCommand", "updateContentCommand", "postCreateCommand.one", "postCreateCommand.two",
		"containerEnv.NODE_ENV", "containerEnv.HERE", "remoteEnv.NODE_ENV", "hostRequirements.cpus", "hostRequirements.memory", "hostRequirements.storage",
		"forwardPorts 3000", "forwardPorts localhost:8080"} {
		understood(t, s, what)
	}
	for what, why := range map[string]string{
		"feature ghcr.io/devcontainers/features/go:1": "registry", "feature ./missing": "install.sh", "containerEnv.PATH": "which programs run",
		"containerEnv.THERE": "another variable", "hostRequirements.gpu": "graphics", "hostRequirements.strange": "not known",
		"forwardPorts db:5432": "Sandbox itself", "forwardPorts 0": "Sandbox itself", "remoteUser": "own user", "customizations": "editors",
		"mounts": "nothing of the machine", "whatIsThis": "not known",
	} {
		if got := notUnderstood(t, s, what); !strings.Contains(got, why) {
			t.Errorf("%s: %q", what, got)
		}
	}
	if len(s.Ports) != 2 || s.Ports[0] != 3000 || s.Ports[1] != 8080 {
		t.Errorf("the ports are %v", s.Ports)
	}
	if len(s.Variables) != 2 || s.Variables[0].Name != "HERE" || s.Variables[0].Value != "/workspace/a" || s.Variables[1].Value != "test" {
		t.Errorf("the Variables are %+v", s.Variables)
	}
	for _, n := range s.NotUnderstood {
		if n.What == "$schema" {
			t.Error("the schema is a property")
		}
	}
}

// TestTheScriptRuns gives the setup script that comes out to a real shell.
func TestTheScriptRuns(t *testing.T) {
	s := read(t, `{
		"features": {"./a tool": {"version": "it's 1.2", "a-b": false, "9x": "$(touch never)"}, "./b": "7", "./c": true},
		"onCreateCommand": "cd / && echo \"in $(pwd)\" >> $OUT",
		"updateContentCommand": ["sh", "-c", "echo \"args: $0 $1\" >> $OUT", "it's", "$HOME"],
		"postCreateCommand": {"z": "echo last >> $OUT", "a": "pwd >> $OUT"}
	}`, map[string]string{
		"a tool/install.sh": "#!/bin/sh\nset -e\ncat lib/data >> $OUT\necho \"feature $VERSION,$A_B,$_X,$MODE,$_REMOTE_USER\" >> $OUT",
		"a tool/lib/data":   "END_OF_FILE\n$(touch never)\n",
		"a tool/devcontainer-feature.json": `{"options": {"mode": {"type": "string", "default": "fast"}, // a comment
		}}`,
		"b/install.sh": "#!/bin/sh\necho \"b $VERSION\" >> $OUT\n", "c/install.sh": "#!/bin/sh\necho \"c ${VERSION-none}\" >> $OUT\n",
	})
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), "OUT="+out), strings.NewReader(s.Recipe.Setup)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s\n%s", err, b, s.Recipe.Setup)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := "END_OF_FILE\n$(touch never)\nfeature it's 1.2,false,$(touch never),fast,root\nb 7\nc none\nin /\nargs: it's $HOME\n" + dir + "\nlast\n"
	if string(got) != want {
		t.Errorf("it wrote\n%s\ninstead of\n%s", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "never")); err == nil {
		t.Error("a value was run")
	}
}

// TestAFailingLineEndsTheScript: what a command does not get done must not be passed over.
func TestAFailingLineEndsTheScript(t *testing.T) {
	s := read(t, `{"onCreateCommand": "false", "postCreateCommand": "echo on"}`, nil)
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Stdin = strings.NewReader(s.Recipe.Setup)
	if b, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(b), "on") {
		t.Errorf("it went on: %s", b)
	}
}

func TestWhatIsBuiltFromADockerfile(t *testing.T) {
	s := read(t, `{"build": {"dockerfile": "Dockerfile"}, "image": "--privileged", "dockerComposeFile": "x.yml", "service": "app"}`, map[string]string{"Dockerfile": "FROM x"})
	if s.Recipe.Base.Kind != claudehub.BaseDefault || s.Name != "Devcontainer" {
		t.Errorf("%+v", s)
	}
	for what, why := range map[string]string{"build": "FROM line", "dockerComposeFile": "several containers", "image --privileged": "not an image's name", "service": "one Sandbox"} {
		if got := notUnderstood(t, s, what); !strings.Contains(got, why) {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestSizesAreWithinWhatASandboxCanHave(t *testing.T) {
	s := read(t, `{"hostRequirements": {"cpus": 1000, "memory": "64mb", "storage": 99999999999999999}}`, nil)
	if s.Recipe.CPUs != claudehub.MaxCPUs || s.Recipe.Memory != claudehub.MinMemory || s.Recipe.Disk != claudehub.MaxDisk {
		t.Errorf("%+v", s.Recipe)
	}
	s = read(t, `{"hostRequirements": {"cpus": "many", "memory": "NaN", "storage": "-8gb"}}`, nil)
	if s.Recipe.CPUs != claudehub.DefaultRecipe().CPUs || len(s.NotUnderstood) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestBrokenFilesGetASentence(t *testing.T) {
	for json, words := range map[string]string{
		"{\n\"a\": 1,\n\"b\" 2}": "line 3", "": "line 1", "[]": "object in braces", "null": "object in braces", `"x"`: "object in braces", "{": "line 1",
	} {
		_, err := devcontainer.Read(wire.Devcontainer{Path: "p/devcontainer.json", JSON: json})
		if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), words) {
			t.Errorf("%q: %v", json, err)
		}
	}
}

// A property of the wrong kind is not understood, whatever it is.
func TestWrongKinds(t *testing.T) {
	for _, name := range []string{"name", "image", "features", "onCreateCommand", "postCreateCommand", "containerEnv", "remoteEnv", "hostRequirements", "forwardPorts"} {
		for _, v := range []string{"7", `[[1]]`, `{"a": {"b": 1}}`, "true"} {
			s := read(t, `{"`+name+`": `+v+`}`, nil)
			if len(s.NotUnderstood) == 0 {
				t.Errorf("%s: %s was understood as %+v", name, v, s.Understood)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(whole, "tool/install.sh", "echo hello")
	f.Add(`{"features": {"./a": {"x": "y"}}}`, "a/install.sh", "END_OF_FILE\n'")
	f.Add(`{"features": {"./../a": 1}, "name": "`+strings.Repeat("é", 80)+`"}`, "../a/install.sh", "\x00")
	f.Add(`{"hostRequirements": {"memory": "1e300gb", "cpus": 1e300}}`, "", "")
	f.Fuzz(func(t *testing.T, json, name, text string) {
		s, err := devcontainer.Read(wire.Devcontainer{Path: "p", JSON: json, Files: map[string]string{name: text}})
		if err != nil {
			if claudehub.CodeOf(err) != claudehub.Invalid && claudehub.CodeOf(err) != claudehub.TooLarge {
				t.Errorf("%v", err)
			}
			return
		}
		if err := s.Recipe.Check(); err != nil {
			t.Errorf("the recipe is refused: %v", err)
		}
		if err := claudehub.ValidEnvironmentName(s.Name); err != nil {
			t.Errorf("the name %q is refused: %v", s.Name, err)
		}
		for _, v := range s.Variables {
			if err := claudehub.ValidVariable(v.Name, v.Value); err != nil {
				t.Errorf("a Variable is refused: %v", err)
			}
		}
		if len(s.Understood) > 200 || len(s.NotUnderstood) > 201 {
			t.Error("the lists have no end")
		}
	})
}

// TestManyFeaturesOfOneLargeFile: what is named often must not become as large as often.
func TestManyFeaturesOfOneLargeFile(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"features": {`)
	for i := range 5000 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"./` + strings.Repeat("./", i%50) + strings.Repeat("x/../", i/50) + `a": {}`)
	}
	b.WriteString(`}}`)
	began := time.Now()
	s := read(t, b.String(), map[string]string{"a/install.sh": strings.Repeat("x", 64<<10)})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if s.Recipe.Setup != "" || !strings.Contains(notUnderstood(t, s, "the commands and features together"), "too much") {
		t.Errorf("a script of %d KB", len(s.Recipe.Setup)>>10)
	}
}
