package claudehub

import "time"

// Runner is a machine that runs Sessions, as the Hub knows it.
type Runner struct {
	ID      RunnerID `json:"id"`
	Owner   PersonID `json:"owner"`
	Name    string   `json:"name"`
	Link    Link     `json:"link" doc:"the hop from Hub to Runner"`
	Machine Machine  `json:"machine" doc:"as last reported; stale while the link is down"`
	// Reclaim is the number of the last Reclaim that was asked for; Machine.Storage.Reclaimed says which one was done.
	Reclaim int64     `json:"reclaim"`
	Created time.Time `json:"created"`
	// LastUsed and Address are of its token; both are exact to a minute.
	LastUsed time.Time `json:"last_used,omitzero"`
	Address  string    `json:"address,omitempty" doc:"where it was last used from"`
	// Revoked is since when its token opens nothing: its Sessions stay listed, and pairing takes it up again.
	Revoked time.Time `json:"revoked,omitzero"`
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
	// MaxAwake is how many this machine has room for at once; more wait for their turn.
	MaxAwake int     `json:"max_awake"`
	Storage  Storage `json:"storage"`
	// Networks are the policies that the Backend can enforce, and NeedsBase tells that it has no system of its own to run.
	Networks []NetworkPolicy `json:"networks"`

	// SetupToken says whether the Runner has the Creator's token; never the token.
	SetupToken bool `json:"setup_token"`
	// StandIn is true when answers come from a stand-in, not from Anthropic.
	StandIn bool      `json:"stand_in"`
	Doctor  []Finding `json:"doctor"`
	// Unowned are Sandboxes on the machine that no Session of the Runner has.
	Unowned  []string  `json:"unowned"`
	Reported time.Time `json:"reported"`
}

// Storage is what a Runner keeps on its machine's disk, in bytes.
type Storage struct {
	Sessions int64 `json:"sessions" doc:"workspaces, conversations and systems of all Sessions, archived ones included"`
	Archived int64 `json:"archived" doc:"the part of Sessions that archived ones hold"`
	Images   int64 `json:"images" doc:"built Environments and base images"`
	// Reclaimable is what Reclaim would give back: images that nothing uses, kept Sandboxes, leftovers.
	Reclaimable int64         `json:"reclaimable"`
	Items       []StorageItem `json:"items" doc:"what makes up images and reclaimable, the largest first; at most 50"`
	// Reclaimed is the last Reclaim that was done: its number, what it gave back, and what went wrong.
	Reclaimed Reclaimed `json:"reclaimed"`
}

// StorageItem is one thing on a Runner's disk.
type StorageItem struct {
	Kind     string    `json:"kind" enum:"image,base,kept,leftover,unowned"`
	Name     string    `json:"name"`
	Bytes    int64     `json:"bytes"`
	Used     time.Time `json:"used,omitzero" doc:"when a Session last started from it"`
	Sessions int       `json:"sessions" doc:"how many are made of it; 0 makes it reclaimable"`
}

// Reclaimed is what a Reclaim did.
type Reclaimed struct {
	Request int64     `json:"request"`
	Freed   int64     `json:"freed"`
	Error   string    `json:"error,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// Finding is one line of the doctor.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Fatal  bool   `json:"fatal,omitempty" doc:"no Session can start until it is mended"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}
