// Package screen has the commands that draw on the screen of a terminal: pcp top and atop.
package screen

import (
	"github.com/go-pcp/pcp/cmd/internal/screen/atop"
	"github.com/go-pcp/pcp/cmd/internal/screen/top"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		top.Command,
		atop.Command,
		atop.SarCommand,
	}
}
