package proc

import _ "embed"

// help has the long help texts of metrics of processes, for column.Config.Texts.
//
//go:embed help.txt
var help string
