package otlp

import (
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	tosend "github.com/go-pcp/pcp/cmd/internal/tool/sending"
)

// settings are the options of this tool.
type settings struct {
	tosend.Connection
	dry        bool
	attributes []names.Pair
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "to":
		set.Config.URL = arg
	case "dry-run":
		set.dry = true
	case "attribute":
		name, value, ok := strings.Cut(arg, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			o.Usagef("--attribute needs NAME=VALUE")
			return true
		}
		set.attributes = names.Set(set.attributes, name, names.Quote(value))
	default:
		return set.Own(o, opt, arg)
	}
	return true
}
