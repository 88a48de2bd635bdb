// Package loggerrewrite is pmlogger_rewrite: it changes archives in their place by the
// rules of pmlogrewrite, if they are whole and are not being written.
//
//	pcp logger-rewrite -c /etc/pcp/pmlogrewrite /var/log/pcp/pmlogger/web7
package loggerrewrite
