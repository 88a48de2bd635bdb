// Package logconf implements pmlogconf, which creates and changes the configuration of
// a recorder from groups of metrics.
//
//	pmlogconf config.mine        make it, or ask about each group if it exists
//	pmlogconf -c -r config.mine  recreate it without questions
package logconf
