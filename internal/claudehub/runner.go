package claudehub

import "time"

// Runner is a machine that runs Sessions, as the Hub knows it.
type Runner struct {
	ID      RunnerID  `json:"id"`
	Owner   PersonID  `json:"owner"`
	Name    string    `json:"name"`
	Link    Link      `json:"link" doc:"the hop from Hub to Runner"`
	Machine Machine   `json:"machine" doc:"as last reported; stale while the link is down"`
	Created time.Time `json:"created"`
}

// Machine is what a Runner says of itself with each status.
type Machine struct {
	Hostname string `json:"hostname"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Version  string `json:"version" doc:"of the Runner program"`
	Claude   string `json:"claude" doc:"the Claude Code version it starts"`
	Backend  string `json:"backend" doc:"bubblewrap or microsandbox"`
	Protocol int    `json:"protocol"`

	CPUs        int     `json:"cpus"`
	Load        float64 `json:"load" doc:"one-minute load average"`
	MemoryTotal int64   `json:"memory_total"`
	MemoryFree  int64   `json:"memory_free" doc:"available, in bytes"`
	DiskTotal   int64   `json:"disk_total"`
	DiskFree    int64   `json:"disk_free"`
	// SessionsMemory is what all Sandboxes together hold, in bytes.
	SessionsMemory int64 `json:"sessions_memory"`
	Awake          int   `json:"awake" doc:"Sessions awake now"`

	// SetupToken says whether the Runner has the Creator's token; never the token.
	SetupToken bool `json:"setup_token"`
	// StandIn is true when answers come from a stand-in, not from Anthropic.
	StandIn bool      `json:"stand_in"`
	Doctor  []Finding `json:"doctor"`
	// Unowned are Sandboxes on the machine that no Session of the Runner has.
	Unowned  []string  `json:"unowned"`
	Reported time.Time `json:"reported"`
}

// Finding is one line of the doctor.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Fatal  bool   `json:"fatal,omitempty" doc:"no Session can start until it is mended"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}
