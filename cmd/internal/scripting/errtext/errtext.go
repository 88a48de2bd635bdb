package errtext

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Command is pmerr.
var Command = &cli.Command{
	Name:     "err",
	Link:     "pmerr",
	Group:    cli.Scripts,
	Summary:  "translate status codes into messages",
	Synopsis: "[options] [code]...",
	Doc: `Translates status codes of PCP, numbers or names such as PM_ERR_TIMEOUT, into messages. Without an
argument or with -l it lists all codes.`,
	Examples: []cli.Example{
		{Line: `pcp err -12345`, Text: `explain a number from a log`},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			{Help: "Options"},
			{Short: 'l', Long: "list", Help: "causes all known error codes to be listed"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// usage is pmerr's own message, with a layout different from all other tools.
const usage = `Usage: pmerr [options] [code]

  -l, --list   causes all known error codes to be listed
`

// run reads its arguments as pmerr does and not as other tools: a code is
// negative, so only the first argument can be an option, and only if it is not
// a number. Printing the list or the usage has a failure status there.
func run(_ context.Context, env *cli.Env) int {
	if len(env.Args) == 0 {
		return 0
	}
	switch first := env.Args[0]; {
	case first == "-l" || first == "--list":
		list(env)
		return 1
	case first == "-?" || first == "--help":
		fmt.Fprint(env.Stderr, usage)
		return 1
	case strings.HasPrefix(first, "-") && !(len(first) > 1 && ctext.IsHexDigit(first[1])):
		fmt.Fprintf(env.Stderr, "Illegal option -- %s\n%s", first[1:], usage)
		return 1
	}
	for _, arg := range env.Args {
		code, ok := decode(arg)
		if !ok {
			fmt.Fprintf(env.Stdout, "Cannot decode \"%s\" - neither decimal nor hexadecimal\n", arg)
			continue
		}
		if code > 0 {
			code = -code
			fmt.Fprintf(env.Stdout, "Code is positive, assume you mean %d\n", code)
		}
		fmt.Fprintf(env.Stdout, "Code: %d 0x%x Text: %s\n", code, uint32(code), text(env, code))
	}
	return 0
}

func list(env *cli.Env) {
	fmt.Fprintln(env.Stdout, "  Code  Symbolic Name          Message")
	for e := range pcp.Errors() {
		if e == pcp.ErrNYI && env.Seven() { // the last
			fmt.Fprintf(env.Stdout, "%6d  %-22s %s\n", errArg, "PM_ERR_ARG", errArgText)
		}
		fmt.Fprintf(env.Stdout, "%6d  %-22s %s\n", int32(e), e.Symbol(), e)
	}
}

// PM_ERR_ARG, which version 7 added.
const (
	errArg     = -12415
	errArgText = "Bad value for function argument"
)

// text returns the message of a code.
func text(env *cli.Env, code int32) string {
	if code == errArg && env.Seven() {
		return errArgText
	}
	return pcp.Error(code).Error()
}

// decode reads a code, all of it hexadecimal after 0x or else the decimal
// number it starts with, and cuts it to 32 bits as scanf(3) does.
func decode(s string) (code int32, ok bool) {
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		digits := s[2:]
		n, err := strconv.ParseUint(digits, 16, 64)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return int32(n), true
		}
	}
	s = ctext.TrimSpace(s)
	end := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		end = 1
	}
	end = ctext.Digits(s, end)
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int32(n), true
}
