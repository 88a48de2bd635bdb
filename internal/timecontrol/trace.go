package timecontrol

import (
	"fmt"
	"net"
	"strings"

	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// trace prints a message that is about to be sent, or has come, on a connection, with the ports of
// both ends. The C library prints commands that it does not know alone.
func (m *Message) trace(log *debug.Log, call string, conn net.Conn) {
	if !log.On(debugname.TimeControl) {
		return
	}
	if call == "pmTimeRecv" && commandName(m.Command) == "" {
		log.Printf("%s: cmd %x?\n", call, uint32(m.Command))
		return
	}
	arrow := "->"
	if call == "pmTimeRecv" {
		arrow = "<-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d%s%d %s source=%d", call, portOf(conn.LocalAddr()), arrow, portOf(conn.RemoteAddr()), commandName(m.Command), m.Source)
	switch m.Command {
	case Set, Step, Change, Drag, Boundary:
		fmt.Fprintf(&b, " state=%v mode=%d delta=%v position=%d.%06d", m.State, m.Mode, m.Delta, m.Position.Sec, m.Position.Nsec/1000)
		if m.Source == Archive {
			fmt.Fprintf(&b, " start=%d.%06d end=%d.%06d", m.Start.Sec, m.Start.Nsec/1000, m.End.Sec, m.End.Nsec/1000)
		}
	case Ack:
		fmt.Fprintf(&b, " position=%d.%06d", m.Position.Sec, m.Position.Nsec/1000)
	}
	if m.Zone != "" || m.ZoneLabel != "" {
		fmt.Fprintf(&b, " zone=%q label=%q", m.Zone, m.ZoneLabel)
	}
	b.WriteByte('\n')
	log.Printf("%s", b.String())
}

// commandName returns the name of a command in the printed lines, "" if there is no
// such command.
func commandName(c Command) string {
	switch c {
	case Set:
		return "SET"
	case Step:
		return "STEP"
	case Zone:
		return "TZ"
	case Change:
		return "VCRMODE"
	case Drag:
		return "VCRMODE_DRAG"
	case ShowGUI:
		return "GUISHOW"
	case HideGUI:
		return "GUIHIDE"
	case Boundary:
		return "BOUNDS"
	case Ack:
		return "ACK"
	}
	return ""
}

// portOf returns the port of an address, 0 if it lacks one.
func portOf(a net.Addr) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
