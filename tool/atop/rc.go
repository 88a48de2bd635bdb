package atop

import (
	"time"

	"github.com/go-pcp/pcp/tool/atop/internal/figure"
	"github.com/go-pcp/pcp/tool/cli"
)

// settings are what an atoprc changes.
type settings struct {
	limits   figure.Limits
	interval time.Duration
}

func readSettings(env *cli.Env, sarFlags func(string)) (*settings, int) {
	return &settings{limits: figure.DefaultLimits, interval: 10 * time.Second}, 0
}
