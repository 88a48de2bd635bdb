package housekeeping

import (
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

const day = 24 * time.Hour

// maxKeepDays is the most that --keep-days takes: 273 years, which is less than
// a time.Duration may be.
const maxKeepDays = 100_000

// Keep takes --keep-days and --max-size, the options of commands that remove
// archives, and reports whether opt is one of them.
func Keep(o *cli.Options, opt *cli.Option, arg string, p *janitor.Policy) bool {
	switch opt.Long {
	case "keep-days":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > maxKeepDays {
			o.Usagef("--keep-days needs a number of days, not %q", arg)
			return true
		}
		p.MaxAge = time.Duration(n) * day
	case "max-size":
		s, err := pmlogger.ParseSize(arg)
		if err != nil || s.Bytes == 0 {
			o.Usagef("--max-size needs a size such as 500mb or 2gb, not %q", arg)
			return true
		}
		p.MaxBytes = s.Bytes
	default:
		return false
	}
	return true
}
