// Package exchange has the commands that exchange metrics with other software: the pcp2* exporters and pcp import.
package exchange

import (
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/exchange/export"
	"github.com/go-pcp/pcp/cmd/internal/exchange/importcmd"
	"github.com/go-pcp/pcp/cmd/internal/exchange/otlp"
	"github.com/go-pcp/pcp/cmd/internal/exchange/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return slices.Concat([]*cli.Command{
		importcmd.Command,
		importcmd.SarCommand,
		importcmd.IostatCommand,
		importcmd.MRTGCommand,
		importcmd.VLLMCommand,
		importcmd.GuideLLMCommand,
		push.Command,
		otlp.Command,
	}, export.Commands())
}
