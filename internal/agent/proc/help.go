package proc

import _ "embed"

// help has the long help texts of metrics of processes, as column.Config.Texts wants them.
//
//go:embed help.txt
var help string
