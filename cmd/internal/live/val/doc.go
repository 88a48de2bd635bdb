// Package val is pmval: it shows the values of one metric, again and again.
//
//	pmval -s 5 -t 2 kernel.all.load
//	pmval disk.dev.read[sda]           as a rate, as it is a counter
//	pmval -r disk.dev.read             as it is
//
// Where a rate cannot be computed a column has "?", where the counter went
// back "!".
//
// With --json, which the C tool does not have, each sample is a line with one
// JSON object, and there is no header.
//
// Records of events are shown as they come; pmevent is another name of pmval.
package val
