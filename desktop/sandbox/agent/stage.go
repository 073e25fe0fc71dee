package agent

// Where a command failed before it ran: core.exec.failed says it in its stage.
const (
	stageRequest  = "request"
	stageDir      = "chdir"
	stageTerminal = "pty"
	stageSpawn    = "spawn"
)
