package getopt

import (
	"fmt"
	"slices"
	"strings"
)

// Heading returns an Option that is a heading in the usage message.
func Heading(text string) Option { return Option{Help: text} }

func (o *Option) heading() bool { return o.Short == 0 && o.Long == "" }

// Usage returns the usage message of a program called name, laid out as
// pmUsageMessage(3) does. Without a synopsis it has "[options]".
func Usage(name, synopsis string, opts []Option) string {
	return Line(name, synopsis) + list(opts, false)
}

// options7 returns opts with the texts of PCP 7.
func options7(opts []Option) []Option {
	opts = slices.Clone(opts)
	for i := range opts {
		switch o := &opts[i]; {
		case o.Short == 'D' && o.Long == OptDebug.Long && o.Help == "":
			o.Help = "set debug options, see pmdbg(1)"
		case o.Help == OptArchive.Help:
			o.Help = "metrics source is a PCP archive"
		}
	}
	return opts
}

// Line returns the first line of a usage message.
func Line(name, synopsis string) string {
	if synopsis == "" {
		synopsis = "[options]"
	}
	return fmt.Sprintf("Usage: %s %s\n", name, synopsis)
}

// List returns the part of a usage message below its first line, with those
// options too that the C program does not have.
func List(opts []Option) string { return list(opts, true) }

func list(opts []Option, extra bool) string {
	var b strings.Builder
	for i := range opts {
		o := &opts[i]
		switch {
		case o.Help == "" || o.Extra && !extra:
		case o.heading() && o.Arg == "|":
			fmt.Fprintf(&b, "%s\n", o.Help)
		case o.heading():
			fmt.Fprintf(&b, "\n%s:\n", o.Help)
		default:
			b.WriteString(o.line())
		}
	}
	return b.String()
}

// Extras returns the lines that Usage leaves out for options that the C
// program does not have, "" if there are none.
func Extras(opts []Option) string {
	var b strings.Builder
	for i := range opts {
		if o := &opts[i]; o.Extra {
			b.WriteString(o.line())
		}
	}
	return b.String()
}

func (o *Option) line() string {
	left := o.left()
	if len(left) < 24 {
		return fmt.Sprintf("%-24s%s\n", left, o.Help)
	}
	return fmt.Sprintf("%s\n%24s%s\n", left, "", o.Help)
}

// left is the part of a usage line that names the option.
func (o *Option) left() string {
	switch {
	case o.Long == "" && o.Arg != "":
		return fmt.Sprintf("  -%c %s", o.Short, o.Arg)
	case o.Long == "":
		return fmt.Sprintf("  -%c", o.Short)
	case o.Short != 0 && o.Arg != "":
		return fmt.Sprintf("  -%c %s, --%s=%s", o.Short, o.Arg, o.Long, o.Arg)
	case o.Short != 0:
		return fmt.Sprintf("  -%c, --%s", o.Short, o.Long)
	case o.Arg != "":
		return fmt.Sprintf("  --%s=%s", o.Long, o.Arg)
	}
	return "  --" + o.Long
}
