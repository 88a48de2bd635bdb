package dbg

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
)

// Command is pmdbg.
var Command = &cli.Command{
	Name:     "dbg",
	Link:     "pmdbg",
	Group:    cli.Scripts,
	Summary:  "explain debug options",
	Synopsis: "[options] [code ..]",
	Doc:      `Explains the names and numbers of debug options, which -D takes in all commands.`,
	Examples: []cli.Example{
		{Line: `pcp dbg -l`, Text: `list all debug options`},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			{Short: 'g', Long: "gdb", Help: "display expression for gdb(1) (requires -l)"},
			{Short: 'l', Long: "list", Help: "display values and text for all PCP debug options"},
			{Short: 'o', Long: "old", Help: "old and deprecated (bit-field) encodings (requires -l)"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	var list, gdb, old, asked bool
	var question string
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'D':
			if !asked {
				asked, question = true, arg
			}
		case 'g':
			gdb = true
		case 'l':
			list = true
		case 'o':
			old = true
		default:
			return false
		}
		return true
	}})
	if asked {
		// Here -D asks for the meaning of its argument, and gets the answer
		// whatever the other arguments are.
		bits, ok := parseOld(question)
		if !ok {
			return env.Fatalf("unrecognized debug option specification (%s)", question)
		}
		fmt.Fprintf(env.Stdout, "%s = %d\n", question, bits)
		return 0
	}
	switch {
	case gdb && old && list:
		fmt.Fprintf(env.Stderr, "%s: -o and -g are mutually exclusive\n", env.ProgName())
		o.WantUsage()
	case !list:
		if old {
			fmt.Fprintf(env.Stderr, "%s: -o only allowed with -l\n", env.ProgName())
		}
		if gdb {
			fmt.Fprintf(env.Stderr, "%s: -g only allowed with -l\n", env.ProgName())
		}
		if old || gdb {
			o.WantUsage()
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if list {
		printList(env, gdb, old)
		return 0
	}
	for _, arg := range o.Args {
		code, ok := decode(arg)
		if !ok {
			fmt.Fprintf(env.Stdout, "Cannot decode \"%s\" - neither decimal nor hexadecimal\n", arg)
			continue
		}
		fmt.Fprintf(env.Stdout, "Performance Co-Pilot -- pmDebug value = %d (0x%x)\n", code, uint32(code))
		fmt.Fprintln(env.Stdout, "#define                 Value  Meaning")
		printBits(env, code)
	}
	return 0
}

// printList prints all options: with their texts, as expressions for a
// debugger, or only those with a bit.
func printList(env *cli.Env, gdb, old bool) {
	fmt.Fprintln(env.Stdout, "Performance Co-Pilot Debug Options")
	switch {
	case old:
		fmt.Fprintln(env.Stdout, "#define       Value  Meaning")
		printBits(env, math.MaxInt32)
	case gdb:
		fmt.Fprintln(env.Stdout, "Option          gdb(1) expression")
		for i, o := range debugOptions {
			fmt.Fprintf(env.Stdout, "%-14.14s  ((int *)&pmDebugOptions)[%d]\n", o.name, i)
		}
	default:
		fmt.Fprintln(env.Stdout, "Option          Meaning")
		for _, o := range debugOptions {
			fmt.Fprintf(env.Stdout, "%-14.14s  %s\n", o.name, o.text)
		}
	}
}

// printBits prints the options whose bits are in code.
func printBits(env *cli.Env, code int32) {
	for _, o := range debugOptions {
		if o.bit&code != 0 {
			fmt.Fprintf(env.Stdout, "%-21s%12d  %s\n", "DBG_TRACE_"+strings.ToUpper(o.name), o.bit, o.text)
		}
	}
}

// parseOld returns the bits of a -D argument: a number, or names with commas
// between, of which only the older ones have bits (__pmParseDebug(3)).
func parseOld(spec string) (bits int32, ok bool) {
	for rest := spec; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		if n, ok := debug.Number(word); ok {
			if n == -1 {
				n = math.MaxInt32
			}
			bits |= n
			continue
		}
		if strings.EqualFold(word, "all") {
			bits = math.MaxInt32
			continue
		}
		found := false
		for _, o := range debugOptions {
			if strings.EqualFold(word, o.name) {
				bits |= o.bit
				found = true
			}
		}
		if !found {
			return 0, false
		}
	}
	return bits, bits >= 0
}

// decode reads a decimal number, or else a hexadecimal one, and cuts it to 32
// bits.
func decode(s string) (code int32, ok bool) {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return int32(n), true
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return int32(n), err == nil
}
