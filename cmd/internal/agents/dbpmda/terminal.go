package dbpmda

import (
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/console"
)

// terminal returns a reader of lines with editing and history if standard
// input is a terminal, else nil.
func terminal(env *cli.Env) lineReader {
	if e := console.NewEditor(env.Stdin, env.Editor()); e != nil {
		return e
	}
	return nil
}
