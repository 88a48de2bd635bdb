// Package logconf is pmlogconf: it makes the configuration of a recorder from groups of
// metrics, and changes it.
//
//	pmlogconf config.mine        make it, or ask about each group if it exists
//	pmlogconf -c -r config.mine  make it anew without questions
package logconf
