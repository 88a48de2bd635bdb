package cli

// The groups of commands, by the user's task. [Groups] has their order.
const (
	SeeNow     = "See now"
	SeePast    = "See the past"
	Record     = "Record"
	Alert      = "Alert"
	Export     = "Export and import"
	Serve      = "Serve the web"
	WriteAgent = "Write an agent"
	Administer = "Administer"
	Scripts    = "Scripts"
	// AgentPrograms are the agents that are programs of their own, and their helpers. Users do not type them.
	AgentPrograms = "Agents as programs, for a collector to start"
)

// Groups returns the groups of commands in the order in which help lists them.
func Groups() []string {
	return []string{SeeNow, SeePast, Record, Alert, Export, Serve, WriteAgent, Administer, Scripts, AgentPrograms}
}
