package linux

import "github.com/go-pcp/pcp/pmda"

var (
	_ pmda.Agent      = (*Agent)(nil)
	_ pmda.Refresher  = (*Agent)(nil)
	_ pmda.NameSpacer = (*Agent)(nil)
	_ pmda.Texter     = (*Agent)(nil)
	_ pmda.Labeler    = (*Agent)(nil)
)
