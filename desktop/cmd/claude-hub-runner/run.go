package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/claude"
	"claude-hub/desktop/keychain"
	"claude-hub/desktop/mod"
	"claude-hub/desktop/runner"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/redact"
)

type runCmd struct {
	TakeOver     bool   `help:"Take the link from another process that has this Runner's token."`
	AnthropicURL string `help:"Another address for Anthropic's API: a gateway, or a stand-in." env:"CLAUDE_HUB_ANTHROPIC_URL"`
	StandIn      bool   `help:"Say on every page that answers come from a stand-in." env:"CLAUDE_HUB_STAND_IN"`
	Claude       string `help:"Your own Claude Code program, instead of the pinned version." type:"path" env:"CLAUDE_HUB_CLAUDE"`
	Memory       int64  `help:"The most memory of one Sandbox, in MB, whatever its Environment asks for; 0 sets no limit." default:"8192" env:"CLAUDE_HUB_SANDBOX_MEMORY"`
	CPUs         int    `name:"cpus" help:"The most processors of one Sandbox; 0 sets no limit." default:"0" env:"CLAUDE_HUB_SANDBOX_CPUS"`
	Disk         int64  `help:"The most disk of one Session, in MB; 0 sets no limit." default:"0" env:"CLAUDE_HUB_SANDBOX_DISK"`
	Processes    int    `help:"The most processes of one Sandbox; 0 sets no limit." default:"4096" env:"CLAUDE_HUB_SANDBOX_PROCESSES"`
	MaxAwake     int    `help:"How many Sessions may be awake at once; 0 lets the machine's memory decide." default:"0" env:"CLAUDE_HUB_MAX_AWAKE"`
	Base         string `help:"The base image of Environments that name none: an image's name, or the path of an image archive or of a root folder." default:"debian:bookworm" env:"CLAUDE_HUB_BASE"`
}

// Run works until it is told to stop. Sandboxes keep running after it.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	if r.AnthropicURL != "" {
		if u, err := url.Parse(r.AnthropicURL); err != nil || u.Host == "" {
			return claudehub.Errorf(claudehub.Invalid, "%q is not an address. It looks like https://gateway.example.org.", r.AnthropicURL)
		}
	}
	store, dir, err := c.keychain(ctx)
	if err != nil {
		return err
	}
	lock, err := runner.Lock(dir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	log := c.logger()
	pairing := runner.NewPairingStore(dir, store)
	paired, err := pairing.Read()
	if err != nil {
		return err
	}
	hub, err := runner.OpenHub(ctx, pairing)
	if err != nil {
		return err
	}
	cfg, err := r.config(c, dir, store, log) //nolint:contextcheck // the look at the machine has a limit of its own
	if err != nil {
		return err
	}
	state, err := runner.OpenState(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = state.Close() }()
	log.Info("Runner starts", "hub", paired.Hub, "dir", dir, "keys", store.Where(), "version", runner.Version)
	log.Debug("Sandboxes", "backend", cfg.Backend.Name(), "limits", cfg.Limits, "max_awake", cfg.MaxAwake, "anthropic", cfg.AnthropicURL != "")
	return runner.New(cfg, state, hub, log).Run(ctx)
}

func (r *runCmd) config(c *cli, dir string, store *keychain.Store, log *slog.Logger) (runner.Config, error) {
	backend, err := c.backend(dir, log)
	if err != nil {
		return runner.Config{}, err
	}
	modDir := filepath.Join(dir, "mod")
	if err := mod.Install(modDir); err != nil {
		return runner.Config{}, err
	}
	platform, err := claude.HostPlatform()
	if backend.Name() == "microsandbox" {
		platform, err = claude.GuestPlatform()
	}
	if err != nil {
		return runner.Config{}, err
	}
	programs := claudeStore(dir, r.Claude)
	images, err := r.builder(dir, backend, log)
	if err != nil {
		return runner.Config{}, err
	}
	return runner.Config{
		Dir: dir, TakeOver: r.TakeOver, Backend: backend, ModDir: modDir, ClaudeName: claude.Pinned().Version,
		Limits:       sandbox.Limits{MemoryBytes: r.Memory << 20, Processes: r.Processes, CPUs: r.CPUs, DiskBytes: r.Disk << 20},
		MaxAwake:     r.MaxAwake,
		Patience:     patience(),
		Builder:      images,
		AnthropicURL: r.AnthropicURL, StandIn: r.StandIn,
		Program: func(ctx context.Context, progress func(string, float64)) (string, error) {
			p, err := programs.Program(ctx, platform, func(p claude.Progress) { progress(p.Step, p.Done) })
			return p.Path, err
		},
		SetupToken: func(ctx context.Context) (string, error) { return store.Get(ctx, setupTokenName) },
	}, nil
}

// patience multiplies deadlines, for emulated machines; 1 is the usual.
func patience() float64 {
	n, err := strconv.ParseFloat(os.Getenv("CLAUDE_HUB_PATIENCE"), 64)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// builder makes Environments' images with the same Backend. Claude Code must answer in each before it is used.
func (r *runCmd) builder(dir string, backend sandbox.Backend, log *slog.Logger) (*builder.Builder, error) {
	base, err := baseOf(r.Base)
	if err != nil {
		return nil, err
	}
	return builder.New(builder.Options{
		Backend: backend, Dir: filepath.Join(dir, "builds"), DefaultBase: base, Smoke: runner.SmokeTest(), Patience: patience(), Log: log,
	})
}

// baseOf tells what kind of base image a name is.
func baseOf(name string) (claudehub.Base, error) {
	base := claudehub.Base{Kind: claudehub.BaseRegistry, Ref: name}
	if filepath.IsAbs(name) {
		info, err := os.Stat(name)
		if err != nil {
			return base, claudehub.WithCause(claudehub.Invalid, err, "The base image %s is not there. Give another with --base.", name)
		}
		if base.Kind = claudehub.BaseArchive; info.IsDir() {
			base.Kind = claudehub.BaseDirectory
		}
	}
	recipe := claudehub.DefaultRecipe()
	recipe.Base = base
	return base, recipe.Check()
}

func (c *cli) logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(redact.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

type doctorCmd struct {
	Install bool `help:"Fetch what microVMs need, after asking."`
	Yes     bool `help:"With --install: ask nobody."`
}

func (d *doctorCmd) Run(ctx context.Context, c *cli) error {
	dir, err := c.stateDir()
	if err != nil {
		return err
	}
	if d.Install {
		if err := c.offerInstall(ctx, dir, d.Yes); err != nil {
			return err
		}
	}
	backend, err := c.backend(dir, c.logger()) //nolint:contextcheck // the look at the machine has a limit of its own
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	fatal := 0
	for _, f := range append(backend.Check(ctx), c.hubFinding(ctx)) {
		mark := "ok "
		if !f.OK {
			mark = "!  "
		}
		if f.Fatal && !f.OK {
			mark, fatal = "NO ", fatal+1
		}
		fmt.Printf("%s %-22s %s\n", mark, f.Name, f.Detail)
		if !f.OK && f.Fix != "" {
			fmt.Printf("    %-22s mend it: %s\n", "", f.Fix)
		}
	}
	if fatal > 0 {
		return claudehub.Errorf(claudehub.Unavailable, "Sessions cannot run here until %d of these are mended.", fatal)
	}
	fmt.Println("Sessions can run here.")
	return nil
}

type sandboxesCmd struct {
	List sandboxesListCmd `cmd:"" default:"1" help:"List them."`
	Stop sandboxesStopCmd `cmd:"" help:"Stop all of them. Their Sessions' files and conversations stay."`
}

type sandboxesListCmd struct{}

func (*sandboxesListCmd) Run(ctx context.Context, c *cli) error {
	return c.eachSandbox(ctx, func(_ sandbox.Backend, b sandbox.Info) error {
		fmt.Printf("%s\t%s\t%s\n", b.ID, b.State, b.Started.Format(time.RFC3339))
		return nil
	})
}

type sandboxesStopCmd struct{}

func (*sandboxesStopCmd) Run(ctx context.Context, c *cli) error {
	return c.eachSandbox(ctx, func(backend sandbox.Backend, b sandbox.Info) error {
		return backend.Stop(ctx, b.ID, 5*time.Second)
	})
}

func (c *cli) eachSandbox(ctx context.Context, do func(sandbox.Backend, sandbox.Info) error) error {
	dir, err := c.stateDir()
	if err != nil {
		return err
	}
	backend, err := c.backend(dir, c.logger()) //nolint:contextcheck // the look at the machine has a limit of its own
	if err != nil {
		return err
	}
	boxes, err := backend.List(ctx)
	if err != nil {
		return err
	}
	for _, b := range boxes {
		if err := do(backend, b); err != nil {
			return err
		}
	}
	return nil
}

type versionCmd struct{}

func (*versionCmd) Run() error {
	fmt.Printf("claude-hub-runner %s\n", runner.Version)
	return nil
}

type claudeCmd struct{}

// Run fetches the pinned Claude Code, if it is not there, compares the whole of it with its checksum, and prints its path.
func (*claudeCmd) Run(ctx context.Context, c *cli) error {
	dir, err := c.stateDir()
	if err != nil {
		return err
	}
	platform, err := claude.HostPlatform()
	if err != nil {
		return err
	}
	store := claudeStore(dir, "")
	p, err := store.Program(ctx, platform, func(p claude.Progress) { fmt.Fprintln(os.Stderr, p.Step) })
	if err != nil {
		return err
	}
	if err := store.Verify(ctx, platform); err != nil {
		return err
	}
	fmt.Println(p.Path)
	return nil
}

func claudeStore(dir, local string) *claude.Store {
	return claude.NewStore(claude.Options{Dir: filepath.Join(dir, "claude"), Local: local})
}
