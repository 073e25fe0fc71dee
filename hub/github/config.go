package github

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	gh "github.com/google/go-github/v93/github"
	"golang.org/x/oauth2"

	"claude-hub/internal/claudehub"
)

const (
	publicURL      = "https://github.com"
	publicAPI      = "https://api.github.com/"
	defaultTimeout = 10 * time.Second
	pendingLife    = 10 * time.Minute
	agent          = "claude-hub"
)

// Config says which GitHub it is and as which application the Hub asks.
type Config struct {
	// BaseURL is the address of an Enterprise GitHub; empty is the public one.
	BaseURL string
	// APIURL is needed only where the API does not stand where GitHub puts it (BaseURL/api/v3/, or api.NAME.ghe.com).
	APIURL       string
	ClientID     string
	ClientSecret string
	Scopes       []string          // what people are asked to grant: AllowList.Scopes
	Transport    http.RoundTripper // nil is one of its own, through the machine's proxy if it has one
	Timeout      time.Duration     // of one call; 0 is ten seconds. A whole question takes three times that at the most
}

// String hides the client secret.
func (c Config) String() string {
	return "GitHub application " + c.ClientID + " at " + orPublic(c.BaseURL)
}

// GoString hides the client secret from %#v too.
func (c Config) GoString() string { return c.String() }

// LogValue hides the client secret from slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client asks GitHub. It is safe for many callers at a time.
type Client struct {
	config   Config
	web, api *url.URL
	http     *http.Client
	own      *http.Transport // nil when the caller brought one
	now      func() time.Time
}

var clientIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// New checks the configuration; it asks nothing yet.
func New(c Config) (*Client, error) {
	if !clientIDs.MatchString(c.ClientID) {
		return nil, claudehub.Errorf(claudehub.Invalid, "The GitHub client id is missing or malformed. Copy it from the OAuth application's page at GitHub.")
	}
	if c.ClientSecret == "" || strings.TrimSpace(c.ClientSecret) != c.ClientSecret {
		return nil, claudehub.Errorf(claudehub.Invalid, "The GitHub client secret is missing, or has spaces around it.")
	}
	web, err := place("GitHub base URL", orPublic(c.BaseURL))
	if err != nil {
		return nil, err
	}
	if web.Path != "" && web.Path != "/" {
		return nil, claudehub.Errorf(claudehub.Invalid, "The GitHub base URL is scheme and host alone, as in https://github.example.com.")
	}
	web.Path = ""
	api, err := apiOf(web, c.APIURL)
	if err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	client := &Client{config: c, web: web, api: api, now: time.Now}
	next := c.Transport
	if next == nil {
		client.own = ownTransport()
		next = client.own
	}
	client.http = &http.Client{
		Transport: bounded{next},
		Timeout:   c.Timeout,
		// GitHub redirects nothing that is asked here; following one could carry a secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// Close lets go of idle connections.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

func orPublic(base string) string {
	if base == "" {
		return publicURL
	}
	return base
}

// place reads an address that secrets will be sent to.
func place(what, s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return nil, claudehub.Errorf(claudehub.Invalid, "The %s is not an address like https://github.example.com.", what)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, claudehub.Errorf(claudehub.Invalid, "The %s has to begin with https://, because secrets are sent there.", what)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func apiOf(web *url.URL, given string) (*url.URL, error) {
	if given == "" {
		given = web.Scheme + "://" + web.Host + "/api/v3/"
		switch host := strings.ToLower(web.Host); {
		case host == "github.com" || host == "www.github.com":
			given = publicAPI
		case strings.HasSuffix(host, ".ghe.com"):
			given = "https://api." + host + "/"
		}
	}
	api, err := place("GitHub API URL", given)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(api.Path, "/") {
		api.Path += "/"
	}
	return api, nil
}

// oauth is the application, for one redirect.
func (c *Client) oauth(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.config.ClientID, ClientSecret: c.config.ClientSecret, RedirectURL: redirect, Scopes: c.config.Scopes,
		Endpoint: oauth2.Endpoint{
			AuthURL:   c.web.String() + "/login/oauth/authorize",
			TokenURL:  c.web.String() + "/login/oauth/access_token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// rest is the API, asked by the holder of a token. Its own limit keeping is off: one client serves one question.
func (c *Client) rest(options ...gh.ClientOptionsFunc) (*gh.Client, error) {
	api := c.api.String()
	return gh.NewClient(append([]gh.ClientOptionsFunc{
		gh.WithHTTPClient(c.http), gh.WithURLs(&api, &api), gh.WithUserAgent(agent), gh.WithDisableRateLimitCheck(),
	}, options...)...)
}
