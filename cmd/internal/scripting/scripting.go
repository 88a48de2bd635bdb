// Package scripting has the commands that scripts use: pmgetopt, pmlock, pmsignal, pmconfig and their like.
package scripting

import (
	"github.com/go-pcp/pcp/cmd/internal/scripting/ask"
	"github.com/go-pcp/pcp/cmd/internal/scripting/config"
	"github.com/go-pcp/pcp/cmd/internal/scripting/cpp"
	"github.com/go-pcp/pcp/cmd/internal/scripting/date"
	"github.com/go-pcp/pcp/cmd/internal/scripting/dbg"
	"github.com/go-pcp/pcp/cmd/internal/scripting/errtext"
	"github.com/go-pcp/pcp/cmd/internal/scripting/findfilter"
	"github.com/go-pcp/pcp/cmd/internal/scripting/getopt"
	"github.com/go-pcp/pcp/cmd/internal/scripting/hostname"
	"github.com/go-pcp/pcp/cmd/internal/scripting/jsontext"
	"github.com/go-pcp/pcp/cmd/internal/scripting/lock"
	"github.com/go-pcp/pcp/cmd/internal/scripting/post"
	"github.com/go-pcp/pcp/cmd/internal/scripting/runwith"
	"github.com/go-pcp/pcp/cmd/internal/scripting/sendsignal"
	"github.com/go-pcp/pcp/cmd/internal/scripting/sleep"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		cpp.Command,
		errtext.Command,
		hostname.Command,
		config.Command,
		post.Command,
		dbg.Command,
		getopt.Command,
		date.Command,
		sleep.Command,
		sleep.PauseCommand,
		lock.Command,
		sendsignal.Command,
		jsontext.Command,
		ask.ConfirmCommand,
		ask.MessageCommand,
		ask.Command,
		runwith.PythonCommand,
		runwith.SocksCommand,
		runwith.NewlogCommand,
		findfilter.Command,
	}
}
