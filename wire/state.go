package wire

// DefaultPort is the TCP port where a collector listens (SERVER_PORT).
const DefaultPort = 44321

// A State has the changes in a collector since a client's last fetch. It is sent
// as the code of an [Error] before the result: codes of errors are negative,
// states positive. An agent puts its own states in place of its result's time
// (PMCD_*_CHANGE).
type State uint32

// State bits. The numbers are part of the protocol.
const (
	AddAgent     State = 1 << 0 // PMCD_ADD_AGENT
	RestartAgent State = 1 << 1 // PMCD_RESTART_AGENT
	DropAgent    State = 1 << 2 // PMCD_DROP_AGENT
	LabelChange  State = 1 << 3 // PMCD_LABEL_CHANGE
	NamesChange  State = 1 << 4 // PMCD_NAMES_CHANGE

	AgentChange = AddAgent | RestartAgent | DropAgent // PMCD_AGENT_CHANGE
)
