// Package loggerrewrite implements pmlogger_rewrite, which changes archives in place by
// the rules of pmlogrewrite, if they are intact and not being written.
//
//	pcp logger-rewrite -c /etc/pcp/pmlogrewrite /var/log/pcp/pmlogger/web7
package loggerrewrite
