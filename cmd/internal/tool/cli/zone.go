package cli

import (
	"time"

	"github.com/go-pcp/pcp/pcptime"
)

// Local returns the time zone of the environment (TZ), else the system's.
func (e *Env) Local() *time.Location { return pcptime.Local(e.Getenv("TZ")) }
