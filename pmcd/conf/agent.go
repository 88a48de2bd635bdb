package conf

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// An Agent is a line of a pmcd.conf that describes an agent.
type Agent struct {
	Name   string
	Domain int
	Transport
}

// A Transport is the way an agent is reached.
type Transport struct {
	Kind     Kind
	Args     []string // command of a Pipe agent, or of a Socket agent to start
	NotReady bool     // the agent sends PM_ERR_PMDAREADY before it takes requests

	Network string // of a Socket agent: "tcp4", "tcp6" or "unix"
	Address string // port number, service name, or path

	Entry, Path string // of a DSO: the C entry point and object
}

// A Kind is the way in which an agent is reached (AGENT_*). The numbers are
// those of the metric pmcd.agent.type, shifted.
type Kind int

// Kinds of agents.
const (
	DSO    Kind = 0 // in the collector's process
	Socket Kind = 1
	Pipe   Kind = 2
)

// String names k as in pmcd.conf.
func (k Kind) String() string {
	switch k {
	case DSO:
		return "dso"
	case Socket:
		return "socket"
	case Pipe:
		return "pipe"
	}
	return "???"
}

// Equal reports whether a and b are the same agent, reached in the same way.
func (a Agent) Equal(b Agent) bool {
	return a.Name == b.Name && a.Domain == b.Domain && a.Transport.equal(b.Transport)
}

// equal reports whether t and o are the same.
func (t Transport) equal(o Transport) bool {
	return t.Kind == o.Kind && t.NotReady == o.NotReady && t.Entry == o.Entry && t.Path == o.Path &&
		t.Network == o.Network && t.Address == o.Address && slices.Equal(t.Args, o.Args)
}

// Family returns the word of a pmcd.conf for the network of a socket.
func (t Transport) Family() string {
	return map[string]string{"tcp4": "inet", "tcp6": "ipv6", "unix": "unix"}[t.Network]
}

// Line returns the line of a pmcd.conf for a, with its newline.
func (a Agent) Line() string {
	b := AppendField(nil, a.Name)
	b = fmt.Appendf(b, "\t%d\t", a.Domain)
	switch a.Kind {
	case DSO:
		b = append(b, "dso\t"...)
		b = AppendField(b, a.Entry)
		b = AppendField(append(b, '\t'), a.Path)
		return string(append(b, '\n'))
	case Socket:
		b = append(b, "socket\t"+a.Family()+" "...)
		b = append(AppendField(b, a.Address), '\t')
	default:
		b = append(b, "pipe\tbinary\t"...)
	}
	if a.NotReady {
		b = append(b, "notready "...)
	}
	for i, arg := range a.Args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = AppendField(b, arg)
	}
	return string(append(b, '\n'))
}

// AppendField appends a field in the form of a pmcd.conf: in quotes if it needs
// them.
func AppendField(b []byte, field string) []byte {
	if field != "" && !strings.ContainsAny(field, " \t\r\v\f\"#") && field[0] != '[' {
		return append(b, field...)
	}
	b = append(b, '"')
	for _, c := range []byte(field) {
		if c == '"' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// Describe writes the agents of a configuration, for pmcd.DebugConfig.
func Describe(w io.Writer, agents []Agent) error {
	var b strings.Builder
	for i := range agents {
		a := &agents[i]
		fmt.Fprintf(&b, "config: agent %q domain %d %v", a.Name, a.Domain, a.Kind)
		switch a.Kind {
		case DSO:
			fmt.Fprintf(&b, " entry %q path %q", a.Entry, a.Path)
		case Socket:
			fmt.Fprintf(&b, " %s %q", a.Network, a.Address)
		}
		for j, arg := range a.Args {
			fmt.Fprintf(&b, " argv[%d]=%q", j, arg)
		}
		if a.NotReady {
			b.WriteString(" notready")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
