// Package rules has the commands that evaluate rules and deliver alerts: pmie, pmieconf, pcp alerts and their like.
package rules

import (
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/rules/ie"
	"github.com/go-pcp/pcp/cmd/internal/rules/ie2col"
	"github.com/go-pcp/pcp/cmd/internal/rules/ieconf"
	"github.com/go-pcp/pcp/cmd/internal/rules/iedaily"
	"github.com/go-pcp/pcp/cmd/internal/rules/iestatus"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		ie.Command,
		alerts.Command,
		iedaily.Command,
		ieconf.Command,
		ie2col.Command,
		iestatus.Command,
		iestatus.DumpCommand,
	}
}
