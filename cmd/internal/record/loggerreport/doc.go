// Package loggerreport implements pmlogger_daily_report, which writes reports like
// those of sar(1) about an archive of a day.
//
//	pcp logger-daily-report -a /var/log/pcp/pmlogger/web7/20261121 -f sar21
//
// The reports are those of pmrep and its configurations. This program has no pmrep of its
// own yet; that of the C implementation is run, and without it there are no reports.
package loggerreport
