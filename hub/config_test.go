package hub_test

import (
	"strings"
	"testing"
	"time"

	"claude-hub/hub"
	"claude-hub/internal/claudehub"
)

func good(dir string) hub.Config {
	return hub.Config{Store: hub.Store{Data: dir}, Listen: "127.0.0.1:0", LogLevel: "info", Version: "test"}
}

// atGitHub sets up sign-in by GitHub for a Hub on loopback.
func atGitHub(c *hub.Config) {
	c.GitHub = hub.GitHub{ClientID: "Iv1.test", ClientSecret: hub.NewSecret("a-secret"), Allow: "login:ada org:acme", Recheck: 15 * time.Minute}
	c.Listen = "127.0.0.1:8080"
}

// outside sets up a Hub that people elsewhere reach, but for its certificate.
func outside(c *hub.Config) {
	atGitHub(c)
	c.Listen, c.PublicURL = "0.0.0.0:8443", "https://hub.example.org"
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

		"GitHub":             atGitHub,
		"Enterprise":         func(c *hub.Config) { atGitHub(c); c.GitHubURL = "https://github.example.com" },
		"secret in a file":   func(c *hub.Config) { atGitHub(c); c.ClientSecret, c.ClientSecretFile = hub.Secret{}, "/f" },
		"public on loopback": func(c *hub.Config) { atGitHub(c); c.Listen, c.PublicURL = "127.0.0.1:0", "http://localhost:1" },
		"proxy on loopback": func(c *hub.Config) {
			atGitHub(c)
			c.PublicURL, c.BehindProxy = "https://h.example", []string{"127.0.0.1"}
		},
		"proxy elsewhere": func(c *hub.Config) {
			outside(c)
			c.BehindProxy = []string{"10.0.0.0/8", " fd00::/8", "::ffff:10.1.0.0/112"}
		},
		"certificate":         func(c *hub.Config) { outside(c); c.TLSCert, c.TLSKey = "/c", "/k" },
		"certificate, proxy":  func(c *hub.Config) { outside(c); c.TLSCert, c.TLSKey, c.BehindProxy = "/c", "/k", []string{"10.0.0.1"} },
		"certificate, :80":    func(c *hub.Config) { outside(c); c.TLSCert, c.TLSKey, c.HTTPListen = "/c", "/k", ":80" },
		"certificate at home": func(c *hub.Config) { c.TLSCert, c.TLSKey = "/c", "/k" },
		"ACME":                func(c *hub.Config) { outside(c); c.ACME = []string{"HUB.example.org", "other.example.org"} },
		"ACME without :80":    func(c *hub.Config) { outside(c); c.ACME, c.HTTPListen = []string{"hub.example.org"}, "off" },
		"ACME elsewhere": func(c *hub.Config) {
			outside(c)
			c.ACME, c.ACMEDirectory = []string{"hub.example.org"}, "https://ca.example/dir"
		},
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

		// Half of a sign-in by GitHub.
		"no secret, no list": {func(c *hub.Config) { c.ClientID = "Iv1" }, []string{"by half", "--github-client-secret-file", hub.SecretEnv, "--allow"}},
		"no client id":       {func(c *hub.Config) { atGitHub(c); c.ClientID = "" }, []string{"by half", "--github-client-id"}},
		"no secret":          {func(c *hub.Config) { atGitHub(c); c.ClientSecret = hub.Secret{} }, []string{"by half", "--github-client-secret-file", hub.SecretEnv}},
		"no list":            {func(c *hub.Config) { atGitHub(c); c.Allow = " " }, []string{"by half", "--allow"}},
		"a list alone":       {func(c *hub.Config) { c.Allow = "login:x" }, []string{"by half", "--github-client-id", "--github-client-secret-file"}},
		"a URL alone":        {func(c *hub.Config) { c.GitHubURL = "https://g.example" }, []string{"by half", "--github-client-id", "--allow"}},
		"a secret alone":     {func(c *hub.Config) { c.ClientSecret = hub.NewSecret("x") }, []string{"by half", "--github-client-id"}},
		"a file alone":       {func(c *hub.Config) { c.ClientSecretFile = "/f" }, []string{"by half", "--github-client-id"}},
		"two secrets":        {func(c *hub.Config) { atGitHub(c); c.ClientSecretFile = "/f" }, []string{"given twice", hub.SecretEnv}},
		"wrong client id":    {func(c *hub.Config) { atGitHub(c); c.ClientID = "a b" }, []string{"client id", "--github-client-id"}},
		"wrong GitHub":       {func(c *hub.Config) { atGitHub(c); c.GitHubURL = "github.example.com" }, []string{"base URL", "--github-url"}},
		"GitHub by http":     {func(c *hub.Config) { atGitHub(c); c.GitHubURL = "http://github.example.com" }, []string{"https://", "--github-url"}},
		"wrong list":         {func(c *hub.Config) { atGitHub(c); c.Allow = "ada" }, []string{`"ada"`, "login:NAME", "--allow"}},
		"never again":        {func(c *hub.Config) { atGitHub(c); c.Recheck = 0 }, []string{"--recheck", "15m"}},
		"seldom again":       {func(c *hub.Config) { atGitHub(c); c.Recheck = 25 * time.Hour }, []string{"--recheck", "24h"}},

		// Where GitHub sends people back to, and what is served there.
		"no way back":        {func(c *hub.Config) { atGitHub(c); c.Listen = "127.0.0.1:0" }, []string{"--public-url", "sends people back"}},
		"no way back by TLS": {func(c *hub.Config) { outside(c); c.PublicURL, c.TLSCert, c.TLSKey = "", "/c", "/k" }, []string{"--public-url", "sends people back"}},
		"back in clear":      {func(c *hub.Config) { atGitHub(c); c.PublicURL = "http://hub.example.org" }, []string{"--public-url", "https://"}},
		"loopback to all": {func(c *hub.Config) {
			outside(c)
			c.PublicURL, c.BehindProxy = "http://localhost:1", []string{"10.0.0.1"}
		}, []string{"--public-url", "https://"}},
		"whose certificate":   {func(c *hub.Config) { atGitHub(c); c.PublicURL = "https://hub.example.org" }, []string{"--behind-proxy", "--acme", "--tls-cert"}},
		"http with TLS":       {func(c *hub.Config) { c.TLSCert, c.TLSKey, c.PublicURL = "/c", "/k", "http://localhost:1" }, []string{"--public-url", "https://"}},
		"another name":        {func(c *hub.Config) { outside(c); c.ACME = []string{"other.example.org"} }, []string{"hub.example.org", "other.example.org", "--acme"}},
		"all without TLS":     {func(c *hub.Config) { outside(c); c.PublicURL = "https://hub.example.org" }, []string{"--acme", "--tls-cert", "--behind-proxy"}},
		"local, with a proxy": {func(c *hub.Config) { c.Listen, c.BehindProxy = "0.0.0.0:1", []string{"10.0.0.1"} }, []string{"local mode", "--github-client-id"}},
		"local, with TLS":     {func(c *hub.Config) { c.Listen, c.TLSCert, c.TLSKey = "0.0.0.0:1", "/c", "/k" }, []string{"local mode", "--github-client-id"}},
		"local, with ACME":    {func(c *hub.Config) { c.ACME = []string{"hub.example.org"} }, []string{"--acme", "--github-client-id"}},

		// Certificates and proxies.
		"no key":           {func(c *hub.Config) { c.TLSCert = "/c" }, []string{"--tls-cert", "--tls-key"}},
		"no certificate":   {func(c *hub.Config) { c.TLSKey = "/k" }, []string{"--tls-cert", "--tls-key"}},
		"two certificates": {func(c *hub.Config) { outside(c); c.TLSCert, c.TLSKey, c.ACME = "/c", "/k", []string{"h.example"} }, []string{"--tls-cert", "--acme"}},
		"ACME and a proxy": {func(c *hub.Config) {
			outside(c)
			c.ACME, c.BehindProxy = []string{"hub.example.org"}, []string{"10.0.0.1"}
		}, []string{"--acme", "--behind-proxy"}},
		"ACME for nobody":   {func(c *hub.Config) { c.ACMEDirectory = "https://ca.example" }, []string{"--acme-directory", "--acme"}},
		"ACME for a star":   {func(c *hub.Config) { outside(c); c.ACME = []string{"*.example.org"} }, []string{`"*.example.org"`, "--acme"}},
		"ACME for a port":   {func(c *hub.Config) { outside(c); c.ACME = []string{"hub.example.org:443"} }, []string{`"hub.example.org:443"`}},
		"ACME for a number": {func(c *hub.Config) { outside(c); c.ACME = []string{"192.0.2.1"} }, []string{`"192.0.2.1"`}},
		"ACME for a word":   {func(c *hub.Config) { outside(c); c.ACME = []string{"localhost"} }, []string{`"localhost"`}},
		"ACME for too many": {func(c *hub.Config) { outside(c); c.ACME = make([]string, 51) }, []string{"50", "--acme"}},
		"ACME in clear": {func(c *hub.Config) {
			outside(c)
			c.ACME, c.ACMEDirectory = []string{"hub.example.org"}, "http://ca.example"
		}, []string{"--acme-directory", "https://"}},
		"plain HTTP alone":   {func(c *hub.Config) { c.HTTPListen = ":80" }, []string{"--http-listen", "--acme", "--tls-cert"}},
		"plain HTTP where":   {func(c *hub.Config) { outside(c); c.TLSCert, c.TLSKey, c.HTTPListen = "/c", "/k", "80" }, []string{`"80"`, "--http-listen"}},
		"proxy is a name":    {func(c *hub.Config) { outside(c); c.BehindProxy = []string{"proxy.example.org"} }, []string{`"proxy.example.org"`, "--behind-proxy"}},
		"proxy is all":       {func(c *hub.Config) { outside(c); c.BehindProxy = []string{"0.0.0.0/0"} }, []string{"whole internet", "--behind-proxy"}},
		"proxy is all, 6":    {func(c *hub.Config) { outside(c); c.BehindProxy = []string{"::/0"} }, []string{"whole internet"}},
		"proxy is all, 4in6": {func(c *hub.Config) { outside(c); c.BehindProxy = []string{"::ffff:0:0/96"} }, []string{"whole internet"}},
	} {
		config := good("/x")
		c.change(&config)
		err := config.Check()
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if msg := claudehub.MessageOf(err); !strings.HasSuffix(msg, ".") || strings.Contains(msg, "\n") {
			t.Errorf("%s: %q is no sentence on one line", name, msg)
		}
		for _, w := range c.words {
			if !strings.Contains(claudehub.MessageOf(err), w) {
				t.Errorf("%s: no %q in %q", name, w, claudehub.MessageOf(err))
			}
		}
	}
}
