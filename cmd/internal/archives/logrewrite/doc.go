// Package logrewrite has pmlogrewrite(1), which changes archives by rules, and
// pmlogredact(1), whose rules take out what others should not see.
package logrewrite
