package hub_test

import (
	"strings"
	"testing"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

func good(dir string) hub.Config {
	return hub.Config{Store: hub.Store{Data: dir}, Listen: "127.0.0.1:0", LogLevel: "info", Version: "test"}
}

func TestGoodValues(t *testing.T) {
	for name, change := range map[string]func(*hub.Config){
		"none":         func(*hub.Config) {},
		"localhost":    func(c *hub.Config) { c.Listen = "localhost:80" },
		"IPv6":         func(c *hub.Config) { c.Listen = "[::1]:8080" },
		"postgres":     func(c *hub.Config) { c.Database = "postgres://u@h/d" },
		"nats":         func(c *hub.Config) { c.NatsURL, c.NatsCreds = "tls://h:4222", "/f" },
		"public URL":   func(c *hub.Config) { c.PublicURL = "https://hub.example.org/" },
		"notice":       func(c *hub.Config) { c.Notice = "Demo – nichts ist echt" },
		"with metrics": func(c *hub.Config) { c.MetricsListen = "127.0.0.1:9090" },
	} {
		c := good("/x")
		change(&c)
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongValuesGetASentence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hub.Config)
		words  []string
	}{
		"no data":             {func(c *hub.Config) { c.Data = "" }, []string{"--data"}},
		"listen on all":       {func(c *hub.Config) { c.Listen = ":8080" }, []string{"local mode", "127.0.0.1", "SSH"}},
		"listen on 0.0.0.0":   {func(c *hub.Config) { c.Listen = "0.0.0.0:8080" }, []string{"0.0.0.0:8080", "local mode"}},
		"listen on the LAN":   {func(c *hub.Config) { c.Listen = "192.168.1.2:8080" }, []string{"local mode"}},
		"listen on a name":    {func(c *hub.Config) { c.Listen = "hub.example.org:80" }, []string{"local mode"}},
		"listen without port": {func(c *hub.Config) { c.Listen = "127.0.0.1" }, []string{"--listen", "127.0.0.1:8080"}},
		"port of a name":      {func(c *hub.Config) { c.Listen = "127.0.0.1:http" }, []string{"--listen"}},
		"port too large":      {func(c *hub.Config) { c.Listen = "127.0.0.1:70000" }, []string{"--listen"}},
		"metrics for all":     {func(c *hub.Config) { c.MetricsListen = "0.0.0.0:9090" }, []string{"--metrics-listen", "loopback"}},
		"metrics nowhere":     {func(c *hub.Config) { c.MetricsListen = "x" }, []string{"--metrics-listen"}},
		"database":            {func(c *hub.Config) { c.Database = "mysql://x" }, []string{"--database", "sqlite:PATH"}},
		"NATS":                {func(c *hub.Config) { c.NatsURL = "http://x" }, []string{"--nats-url", "nats://"}},
		"creds alone":         {func(c *hub.Config) { c.NatsCreds = "/f" }, []string{"--nats-creds", "--nats-url"}},
		"public URL":          {func(c *hub.Config) { c.PublicURL = "hub.example.org" }, []string{"--public-url", "https://"}},
		"public path":         {func(c *hub.Config) { c.PublicURL = "https://x/hub" }, []string{"--public-url"}},
		"public password":     {func(c *hub.Config) { c.PublicURL = "https://u:p@x" }, []string{"--public-url"}},
		"notice lines":        {func(c *hub.Config) { c.Notice = "a\nb" }, []string{"--notice", "one line"}},
		"notice length":       {func(c *hub.Config) { c.Notice = strings.Repeat("x", 301) }, []string{"--notice", "300"}},
		"level":               {func(c *hub.Config) { c.LogLevel = "loud" }, []string{"--log-level", "debug, info, warn, error"}},
	} {
		config := good("/x")
		c.change(&config)
		err := config.Check()
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(claudehub.MessageOf(err), w) {
				t.Errorf("%s: no %q in %q", name, w, claudehub.MessageOf(err))
			}
		}
	}
}
