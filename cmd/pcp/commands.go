package main

import (
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/about"
	"github.com/go-pcp/pcp/cmd/internal/agents"
	"github.com/go-pcp/pcp/cmd/internal/archives"
	"github.com/go-pcp/pcp/cmd/internal/exchange"
	"github.com/go-pcp/pcp/cmd/internal/live"
	"github.com/go-pcp/pcp/cmd/internal/record"
	"github.com/go-pcp/pcp/cmd/internal/reports"
	"github.com/go-pcp/pcp/cmd/internal/rules"
	"github.com/go-pcp/pcp/cmd/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/scripting"
	"github.com/go-pcp/pcp/cmd/internal/serve"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// commands returns the table of commands, in the order in which help lists them. Each subject
// has its own table, and a new command a line there.
func commands() []*cli.Command {
	return slices.Concat(
		serve.Commands(),
		live.Commands(),
		screen.Commands(),
		reports.Commands(),
		record.Commands(),
		archives.Commands(),
		rules.Commands(),
		exchange.Commands(),
		agents.Commands(),
		scripting.Commands(),
		about.Commands(),
		[]*cli.Command{versionCommand, linksCommand},
	)
}
