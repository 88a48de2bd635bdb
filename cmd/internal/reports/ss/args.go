package ss

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// options are those of the C program, which reads them with Python's argparse.
func options() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		{Short: 'h', Long: "help", Help: "show this usage message and exit"},
		{Short: 'V', Long: "version", Help: "does nothing, as in the C program"},
		{Short: 'n', Long: "numeric", Help: "show numbers of ports, as it always does"},
		{Short: 'r', Long: "resolve", Help: "does nothing: names of hosts are not in the metrics"},
		{Short: 'a', Long: "all", Help: "show sockets in any state"},
		{Short: 'l', Long: "listening", Help: "show only listening sockets"},
		{Short: 'o', Long: "options", Help: "show timers"},
		{Short: 'e', Long: "extended", Help: "show users, inodes and control groups"},
		{Short: 'm', Long: "memory", Help: "show the memory of sockets"},
		{Short: 'p', Long: "processes", Help: "not supported; prints a warning"},
		{Short: 'i', Long: "info", Help: "show what TCP knows of the connection"},
		{Short: 's', Long: "summary", Help: "not supported; prints a warning"},
		{Short: 'b', Long: "bpf", Help: "does nothing: filters of sockets are not in the metrics"},
		{Short: 'E', Long: "events", Help: "not supported; prints a warning"},
		{Short: 'Z', Long: "context", Help: "not supported; prints a warning"},
		{Short: 'z', Long: "contexts", Help: "not supported; prints a warning"},
		{Short: 'N', Long: "net", Help: "not supported; prints a warning"},
		{Short: '4', Long: "ipv4", Help: "show only sockets of IP version 4"},
		{Short: '6', Long: "ipv6", Help: "show only sockets of IP version 6"},
		{Short: '0', Long: "packet", Help: "show no sockets but packet sockets, of which there are no metrics"},
		{Short: 't', Long: "tcp", Help: "show TCP sockets"},
		{Short: 'M', Long: "mptcp", Help: "show no sockets but those of MPTCP, of which there are no metrics"},
		{Short: 'S', Long: "sctp", Help: "show no sockets but those of SCTP, of which there are no metrics"},
		{Short: 'u', Long: "udp", Help: "show UDP sockets"},
		{Short: 'd', Long: "dccp", Help: "show no sockets but those of DCCP, of which there are no metrics"},
		{Short: 'w', Long: "raw", Help: "show raw sockets"},
		{Short: 'x', Long: "unix", Help: "show Unix sockets"},
		{Short: 'H', Long: "noheader", Help: "leave out the headings"},
		{Short: 'O', Long: "oneline", Help: "print each socket in one line"},
		cli.OptJSON,
	}
}

// args are the options set on the command line, by their long names.
type args map[string]bool

// A usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func short(c rune) *cli.Option {
	for _, o := range options() {
		if o.Short == c && c != 0 {
			return &o
		}
	}
	return nil
}

// long returns the option with the given name, or else all options whose names begin
// with it.
func long(word string) []*cli.Option {
	var list []*cli.Option
	for _, o := range options() {
		switch {
		case o.Long == "":
		case o.Long == word:
			return []*cli.Option{&o}
		case strings.HasPrefix(o.Long, word) && !o.Extra:
			list = append(list, &o)
		}
	}
	return list
}

// ambiguous returns the error for an ambiguous long option.
func ambiguous(list []string) error {
	for _, arg := range list {
		word, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case arg == "--":
			return nil
		case strings.HasPrefix(arg, "--") && len(long(word)) > 1:
			var names []string
			for _, o := range long(word) {
				names = append(names, "--"+o.Long)
			}
			return usageError(fmt.Sprintf("ambiguous option: %s could match %s", arg, strings.Join(names, ", ")))
		}
	}
	return nil
}

// parse reads arguments as argparse does. It prints help as soon as it meets the
// option.
func parse(list []string) (args, error) {
	if err := ambiguous(list); err != nil {
		return nil, err
	}
	a := make(args)
	var unknown []string
	for i, arg := range list {
		word, value, hasValue := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case arg == "--":
			unknown = append(unknown, list[i:]...)
		case strings.HasPrefix(arg, "--"):
			switch found := long(word); {
			case len(found) == 0:
				unknown = append(unknown, arg)
			case hasValue:
				return nil, ignored(found[0], value)
			default:
				a[found[0].Long] = true
			}
		case len(arg) > 1 && arg[0] == '-' && short(rune(arg[1])) != nil:
			last := (*cli.Option)(nil)
			for at, c := range arg[1:] {
				o := short(c)
				if o == nil {
					return nil, ignored(last, arg[1+at:])
				}
				a[o.Long], last = true, o
				if o.Long == "help" {
					return a, nil
				}
			}
		default:
			unknown = append(unknown, arg)
		}
		if arg == "--" || a["help"] {
			break
		}
	}
	if len(unknown) > 0 && !a["help"] {
		return nil, usageError("unrecognized arguments: " + strings.Join(unknown, " "))
	}
	return a, nil
}

func ignored(o *cli.Option, value string) error {
	return usageError(fmt.Sprintf("argument -%c/--%s: ignored explicit argument %s", o.Short, o.Long, pytext.Repr(value)))
}

// usage is the beginning of usage messages.
func usage(name string) string {
	var b strings.Builder
	line := "usage: " + name
	indent := strings.Repeat(" ", len(line))
	for _, o := range options() {
		if o.Short == 0 || o.Extra {
			continue
		}
		word := fmt.Sprintf(" [-%c]", o.Short)
		if len(line)+len(word) > 78 {
			b.WriteString(line + "\n")
			line = indent
		}
		line += word
	}
	return b.String() + line + "\n"
}

// defaults sets the options implied by others. In PCP 7 -l is not implied by -a.
func (a args) defaults(seven bool) {
	kinds := []string{"tcp", "udp", "mptcp", "sctp", "packet", "dccp", "raw", "unix"}
	if !a.any(kinds...) {
		for _, k := range kinds {
			a[k] = true
		}
	}
	if !a.any("ipv4", "ipv6") {
		a["ipv4"], a["ipv6"] = true, true
	}
	if a["all"] && !seven {
		a["listening"] = true
	}
}

func (a args) any(names ...string) bool {
	for _, n := range names {
		if a[n] {
			return true
		}
	}
	return false
}
