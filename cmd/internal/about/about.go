// Package about has the commands that explain this program: pcp help, pcp man and pcp completion.
package about

import (
	"github.com/go-pcp/pcp/cmd/internal/about/completion"
	"github.com/go-pcp/pcp/cmd/internal/about/help"
	"github.com/go-pcp/pcp/cmd/internal/about/man"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		help.Command,
		man.Command,
		completion.Command,
	}
}
