package ask

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// ConfirmCommand is pmconfirm.
var ConfirmCommand = &cli.Command{
	Name:     "confirm",
	Link:     "pmconfirm",
	Group:    cli.Scripts,
	Summary:  "ask the user of a script to choose a button, and print it",
	Synopsis: "[options] [message...]",
	Doc: `Shows a text in the terminal, and a button for each -b, -B and --buttons, by default one called
Continue. The user types the number of a button, its label or the beginning of one, or only Enter
for the default button. The label of the button is printed on standard output, and its exit status
is that of the command: 0, or as --buttons gives it.
` + terminalDoc,
	Examples: []cli.Example{
		{Line: `pcp confirm -b No -B Yes --icon question -t "Really power down?"`, Text: `print Yes or No`},
	},
	SeeAlso:     []string{"pmmessage(1)", "pmquery(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         func(ctx context.Context, env *cli.Env) int { return run(ctx, env, true) },
}

// MessageCommand is pmmessage.
var MessageCommand = &cli.Command{
	Name:     "message",
	Link:     "pmmessage",
	Group:    cli.Scripts,
	Summary:  "show a text to the user of a script, with buttons that give an exit status",
	Synopsis: "[options] [message...]",
	Doc: `Like confirm, but does not print the label of the button unless --print is given: a script uses the
exit status. The buttons of --buttons have the exit status that follows the label and a colon, by
default 101 for the first of these, 102 for the second, and so on.
` + terminalDoc,
	Examples: []cli.Example{
		{Line: `pcp message --buttons Retry:2,Stop:3 --default Retry "The host does not answer."`, Text: `end with status 2 or 3`},
	},
	SeeAlso:     []string{"pmconfirm(1)", "pmquery(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         func(ctx context.Context, env *cli.Env) int { return run(ctx, env, false) },
}

// Command is pmquery.
var Command = &cli.Command{
	Name:     "ask",
	Link:     "pmquery",
	Group:    cli.Scripts,
	Summary:  "ask the user of a script for a text, or to choose a button",
	Synopsis: "[options] [message...]",
	Doc: `Like confirm, and with --input asks for a text as well. The message is then the text that Enter alone
selects; more than one -t make a text of several lines. If the user chooses the default button, the
text is printed, else the label of the button.
` + terminalDoc,
	Examples: []cli.Example{
		{Line: `pcp ask --input -b Cancel -B OK --header "Host to connect to"`, Text: `print the host, or Cancel`},
	},
	SeeAlso:     []string{"pmconfirm(1)", "pmmessage(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         func(ctx context.Context, env *cli.Env) int { return run(ctx, env, true) },
}

// terminalDoc describes what the commands have in common.
const terminalDoc = `
The terminal is used even if standard input and output are redirected. $PCP_CONSOLE can name another
one, or a file with the answers, a line each. Without a terminal the exit status is 1, as for each
error and after --timeout. An end of input (Ctrl-D) closes the question as one closes a window: the
exit status is 0, and nothing is printed.

An option with a long name can also be given with a single dash. The options that place a window or
choose its font have no effect in a terminal, and print a note on standard error.`

func options() []cli.Option {
	return []cli.Option{
		cli.Heading("Text options"),
		{Short: 't', Arg: "TEXT", Help: "a line of the message; can be repeated"},
		{Long: "file", Arg: "FILE", Help: "show this file, or - for standard input"},
		{Long: "header", Arg: "TITLE", Help: "title [default Query]"},
		{Long: "icon", Arg: "TYPE", Help: "kind of message: info, error, question, warning, critical, host or archive"},
		{Short: 'c', Long: "center", Help: "center the message on the terminal"},
		{Long: "noframe", Help: "show no frame around the message"},
		{Long: "useslider", Help: "show a long message page by page, as is the default"},
		{Long: "noslider", Help: "show only the lines of the message that fit on the terminal"},
		cli.Heading("Answer options"),
		{Short: 'b', Arg: "LABEL", Help: "a button; can be repeated"},
		{Short: 'B', Arg: "LABEL", Help: "a button that is the default"},
		{Long: "buttons", Arg: "LIST", Help: "buttons separated by commas, each LABEL or LABEL:STATUS"},
		{Long: "default", Arg: "LABEL", Help: "make the button with this label the default"},
		{Long: "input", Help: "ask for a text"},
		{Long: "print", Help: "print the label of the button, or the text"},
		{Long: "noprint", Help: "do not print it"},
		{Long: "timeout", Arg: "SECONDS", Help: "end with status 1 if there is no answer by then"},
		{Long: "exclusive", Help: "accept no other input, which a terminal does not do in any case"},
		cli.Heading("Options for windows, without effect"),
		{Long: "nearmouse", Help: "place the window near the pointer"},
		{Long: "geometry", Arg: "GEOMETRY", Help: "size and place of the window"},
		{Long: "font", Arg: "FONT", Help: "font of the message"},
		cli.Heading("Other"),
		cli.OptHelp,
	}
}

// run asks the question of the arguments.
func run(ctx context.Context, env *cli.Env, print bool) int {
	q, err := parse(env.Args, print, env.Classic())
	switch {
	case q.help && err == nil && !env.Classic():
		env.Help(env.Command)
		return 0
	case err != nil:
		fmt.Fprintf(env.Stderr, "%s: %v\n", env.ProgName(), err)
		fallthrough
	case q.help:
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		if !env.Classic() {
			fmt.Fprintf(env.Stderr, "\"%s help %s\" lists the options.\n", env.Pcp(), env.Command.Name)
		}
		return 1
	}
	if err := q.readFile(env.Stdin); err != nil {
		return env.Fatalf("%v", err)
	}
	t, err := openTerminal(env.Getenv("PCP_CONSOLE"))
	if err != nil {
		return env.Fatalf("no terminal to ask in: %v", err)
	}
	defer t.close()
	for _, name := range q.window {
		fmt.Fprintf(env.Stderr, "%s: -%s has no effect in a terminal\n", env.ProgName(), name)
	}
	a, err := q.ask(ctx, t)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if a.closed {
		return 0
	}
	if q.print {
		fmt.Fprintln(env.Stdout, a.text)
	}
	return a.status
}
