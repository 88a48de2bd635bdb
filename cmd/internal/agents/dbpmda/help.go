package dbpmda

import "strings"

// A help is the help of a command: its syntax and a description.
type help struct{ name, usage, text string }

// helps has all commands in the order of the help.
var helps = []help{
	{"attr", "attr name [value]\nattr attr# [value]", `
Tells the agent an attribute of a client, such as the user on whose behalf it
asks. Agents that show each user something else can be tried out that way.
`},
	{"children", "children metric-name", `
Asks the agent which names come directly below one in its part of the name
space, and which of them are metrics (leaf) or have more below (non-leaf).
Only agents with dynamic names can tell.
`},
	{"close", "close", `
Ends the connection to the agent, or drops it if it is part of this program.
Another can be opened then.
`},
	{"debug", "debug all | none\ndebug [-]flag [ [-]flag ... ] (- prefix to clear)", `
Sets debug options, by their names or as a number of bits; a minus sign before
a name clears the option. Pdu shows all that goes to the agent and comes from
it, fetch what store has fetched, context and profile the handshake and the
changes of the profile. See status for what is set, and pmdbg for a list.
`},
	{"desc", "desc metric", `
Prints the descriptor of a metric. A metric is a name, or a PMID of one, two
or three numbers with dots between.
`},
	{"fetch", "fetch metric [ metric ... ]", `
Fetches the values of metrics, of the instances that the profile selects.
`},
	{"getdesc", "getdesc on | off", `
Says whether fetch asks for descriptors first. Without them it cannot know the
types of values, and prints numbers in each way that they may be meant.
`},
	{"getiname", "getiname on | off", `
Says whether fetch asks for the names of the instances that have values;
otherwise it prints ??? in their place.
`},
	{"instance", "instance indom# [ number | name | \"name\" ]", `
Lists the instances of a domain, or looks one up by its number or name.
`},
	{"label", "label context\nlabel domain\nlabel indom indom#\nlabel cluster cluster#\nlabel item metric\nlabel instances indom#", ""},
	{"name", "name pmid#", `
Asks the agent for the names of a metric, given as three numbers with dots
between. Only agents with dynamic names can tell.
`},
	{"namespace", "namespace fname", `
Replaces the name space by that of a file. If it cannot be read, the one from
the start is back.
`},
	{"open", "open dso dsoname init_routine [ domain# ]\nopen pipe execname [ arg ... ]\nopen socket unix sockname\n" +
		"open socket inet port#|service\nopen socket ipv6 port#|service", `
Connects to an agent. With pipe a program is started and spoken to by its
standard input and output. With socket the agent is running already, and
listens on the path of a Unix socket or on a port of this host, which is a
number or a "service". With dso an agent of this program is made part of it,
named as pmcd.conf names it, or by the shared object that it stands for.
`},
	{"pmid", "pmid metric-name", `
Asks the agent for the PMID of a name. Only agents with dynamic names can tell.
`},
	{"profile", "profile indom# [ all | none ]\nprofile indom# [ add | delete ] number", `
Says which instances of a domain fetch and store are about: all, none, one
more or one less.
`},
	{"quit", "quit", `
Ends the program, and closes the agent before.
`},
	{"status", "status", `
Shows what is open and how everything that can be set is set.
`},
	{"store", "store metric \"value\"", `
Gives a metric a value, which must be quoted. The metric is fetched before, as
all instances for which that brings a value get the new one. Of which type it
must be, its descriptor tells.
`},
	{"text", "text metric\ntext indom indom#", `
Prints the help text of a metric or an instance domain: the short one in
brackets, and the long one.
`},
	{"timer", "timer on | off", `
Says whether to print how long each answer took.
`},
	{"traverse", "traverse metric-name", `
Asks the agent for the names of all metrics below a name in its part of the
name space. Only agents with dynamic names can tell.
`},
	{"wait", "wait seconds", `
Waits.
`},
	{"watch", "watch logfilename", `
Opens a window, with xterm, that shows what is added to a file, such as the
agent's log.
`},
}

func helpOf(name string) *help {
	for i := range helps {
		if helps[i].name == name {
			return &helps[i]
		}
	}
	return nil
}

// usage prints the syntax of a command.
func (s *session) usage(name string) { s.printf("%s\n", helpOf(name).usage) }

// usages prints the syntax of all commands.
func (s *session) usages() {
	s.printf("help [ command ]\n\n")
	for _, h := range helps {
		s.printf("%s\n", h.usage)
	}
	s.printf("\n")
}

// explain explains one.
func (s *session) explain(name string) {
	h := helpOf(name)
	s.printf("\n%s\n\n", h.usage)
	if h.text != "" {
		s.printf("%s\n", strings.TrimPrefix(h.text, "\n"))
	}
}
