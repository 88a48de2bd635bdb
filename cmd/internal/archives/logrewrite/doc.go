// Package logrewrite implements pmlogrewrite(1), which changes archives by rules, and
// pmlogredact(1), whose rules remove confidential data.
package logrewrite
