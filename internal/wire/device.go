package wire

// The device flow (RFC 8628): a Runner or the CLI shows a short code, a person approves it in the Hub.
const (
	DeviceCodePath  = "/api/device/code"  // POST DeviceRequest → DeviceCode
	DeviceTokenPath = "/api/device/token" // POST DeviceTokenRequest → DeviceToken, or the problem of DeviceError
)

// DeviceClient says what asks.
type DeviceClient string

// The clients: a Runner gets a Runner token, the CLI an API token with all scopes.
const (
	DeviceRunner DeviceClient = "runner"
	DeviceCLI    DeviceClient = "cli"
)

// DeviceRequest asks for a code.
type DeviceRequest struct {
	Client  DeviceClient `json:"client" enum:"runner,cli"`
	Name    string       `json:"name" doc:"what the person shall see: the machine's name" maxLength:"60"`
	Machine string       `json:"machine" doc:"system and processor: darwin/arm64" maxLength:"60"`
	// Again is the id that this Runner had on this Hub before: its owner's approval takes it up again, with its Sessions.
	Again string `json:"again,omitempty" maxLength:"60"`
}

// DeviceCode is what the device shows and holds. URIs are absolute. Times are in seconds.
type DeviceCode struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code" doc:"BDFG-HJKL: eight letters without vowels"`
	VerificationURI string `json:"verification_uri"`
	Complete        string `json:"verification_uri_complete"`
	ExpiresIn       int    `json:"expires_in"`
	Interval        int    `json:"interval"`
}

// DeviceTokenRequest polls.
type DeviceTokenRequest struct {
	DeviceCode string `json:"device_code" maxLength:"200"`
}

// DeviceToken is what an approved device gets, once.
type DeviceToken struct {
	Token  string `json:"token"`
	Login  string `json:"login" doc:"whose it is"`
	Runner string `json:"runner,omitempty" doc:"the Runner's id"`
	Name   string `json:"name"`
}

// The words of RFC 8628 §3.5 that the poll is refused with, in the member "error" of the problem JSON, status 400.
const (
	DevicePending = "authorization_pending"
	DeviceSlow    = "slow_down" // and the interval is five seconds longer from now on
	DeviceExpired = "expired_token"
	DeviceDenied  = "access_denied"
)
