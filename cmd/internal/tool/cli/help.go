package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/getopt"
)

// Help writes to standard output the description of c, its usage, and examples.
func (e *Env) Help(c *Command) { WriteHelp(e.Stdout, c, e.Bold) }

// WriteHelp writes the help of c to w, with headings made by bold.
func WriteHelp(w io.Writer, c *Command, bold func(string) string) {
	name := "pcp " + c.Name
	fmt.Fprintf(w, "%s: %s\n", bold(name), c.Summary)
	if c.Link != "" {
		fmt.Fprintf(w, "Also called %s.\n", c.Link)
	}
	line, _ := strings.CutPrefix(getopt.Line(name, c.Synopsis), "Usage:")
	fmt.Fprintf(w, "\n%s%s", bold("Usage:"), line)
	if doc := strings.Trim(c.Text(), "\n"); doc != "" {
		fmt.Fprintf(w, "\n%s\n", doc)
	}
	if len(c.Sub) > 0 {
		fmt.Fprintf(w, "\n%s\n", bold("Commands:"))
		width := 0
		for _, s := range c.Sub {
			width = max(width, len(s.Name))
		}
		for _, s := range c.Sub {
			fmt.Fprintf(w, "  pcp %-*s  %s\n", width, s.Name, s.Summary)
		}
		fmt.Fprintf(w, "\n\"pcp help %s\" explains a command.\n", c.Sub[0].Name)
	}
	if len(c.Examples) > 0 {
		fmt.Fprintf(w, "\n%s\n", bold("Examples:"))
		for _, x := range c.Examples {
			fmt.Fprintf(w, "  %s\n      %s\n", x.Line, x.Text)
		}
	}
	for text := range strings.Lines(getopt.List(c.OptionList())) {
		if strings.HasSuffix(text, ":\n") && !strings.HasPrefix(text, " ") {
			text = bold(strings.TrimSuffix(text, "\n")) + "\n"
		}
		io.WriteString(w, text)
	}
	if c.TakesDebug() {
		fmt.Fprintf(w, "\nDebug options of -D and $PCP_DEBUG: \"pcp dbg -l\" lists them.\n%s\n", shows(c.Debug))
		if c.connects() {
			fmt.Fprintf(w, "Connections, contexts and archives print debug output for attr, auth, context,\nderive, fetch, indom, labels, log, logmeta, pdu, pmapi, pmns, profile%s and tls.\n", controlled(c))
		}
	}
	if len(c.SeeAlso) > 0 {
		fmt.Fprintf(w, "\n%s %s\n", bold("See also:"), strings.Join(c.SeeAlso, ", "))
	}
}

// connects reports whether c opens contexts on collectors.
func (c *Command) connects() bool {
	return slices.ContainsFunc(c.OptionList(), func(o Option) bool { return o.Short == 'h' && o.Long == "host" })
}

// controlled returns the debug option of those commands that a controller moves through time.
func controlled(c *Command) string {
	if slices.ContainsFunc(c.OptionList(), func(o Option) bool { return o.Long == "guiport" }) {
		return ", timecontrol"
	}
	return ""
}

// shows returns a sentence that names the debug options for which a command
// prints something.
func shows(names []string) string {
	switch n := len(names); n {
	case 0:
		return "The command itself has no debug output."
	case 1:
		return "The command itself has debug output for " + names[0] + "."
	default:
		return "The command itself has debug output for " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + "."
	}
}

// usage keeps for Flush the text that follows the message about a mistake on the
// command line under "pcp": one line that names the command for more help.
func (e *Env) usage() {
	if kept := e.messages().Kept(); len(kept) == 0 {
		e.Printf("%s", getopt.Line(e.Name, e.Command.Synopsis))
	} else if kept[len(kept)-1] != '\n' {
		e.Printf("\n")
	}
	e.Printf("\"%s help %s\" lists the options.\n", e.Pcp(), e.Command.Name)
}

// toStdout writes the messages that Printf kept to standard output.
func (e *Env) toStdout() { e.Stdout.Write(e.messages().Take()) }

// Colours of a terminal (ECMA-48, select graphic rendition).
const (
	sgrBold  = "\x1b[1m"
	sgrRed   = "\x1b[31m"
	sgrGreen = "\x1b[32m"
	sgrReset = "\x1b[0m"
)

// Bold returns s with the codes that make it bold on a terminal. It returns s
// unchanged if standard output is not a terminal, NO_COLOR is set, or the command
// was called by its classic name.
func (e *Env) Bold(s string) string { return e.colour(sgrBold, s) }

// Red is like Bold, for errors.
func (e *Env) Red(s string) string { return e.colour(sgrRed, s) }

// Green is like Bold, for success.
func (e *Env) Green(s string) string { return e.colour(sgrGreen, s) }

func (e *Env) colour(sgr, s string) string {
	if e.Classic() || !e.Colours() {
		return s
	}
	return e.Own(sgr) + s + e.Own(sgrReset)
}

// Colours reports whether the output may have colours: standard output is a terminal, that terminal
// has them, and the user does not forbid them (NO_COLOR, see no-color.org).
func (e *Env) Colours() bool {
	return e.OutTerminal != nil && !e.NoColour() && e.OutTerminal()
}

// NoColour reports whether the environment forbids colours, on terminals too.
func (e *Env) NoColour() bool { return e.Getenv("NO_COLOR") != "" || e.Getenv("TERM") == "dumb" }
