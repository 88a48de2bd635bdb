// Package loggerdaily implements pmlogger_daily, which maintains the archives that
// pmlogger writes. Once a day, for each line of pmlogger's control files, it
//
//   - switches the running pmlogger to a new archive,
//   - removes archives that are older than a limit,
//   - merges the archives of each past day into one, by the rules of pmlogrewrite,
//   - compresses archives that are old enough,
//   - and runs the user's commands for each archive that it made.
//
// It makes the directory of the archives its current directory, so that messages have the same names
// as those of the C script.
//
// Only one process works in a directory at a time (a file "lock" ensures that). The process
// may be killed at any time: the next call finishes its work.
package loggerdaily
