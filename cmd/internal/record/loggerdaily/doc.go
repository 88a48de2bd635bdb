// Package loggerdaily is pmlogger_daily: it looks after the archives that pmlogger makes.
// Once a day, for each line of pmlogger's control files, it
//
//   - has the running pmlogger go on in a new archive,
//   - removes archives that are older than a limit,
//   - makes one archive of those of each day that is over, by the rules of pmlogrewrite,
//   - compresses what is old enough,
//   - and runs what the user wants to be run for each archive that it made.
//
// It does so in the directory of the archives, which it makes the current one of the process, so that
// messages have the same names as those of the C script.
//
// What it does in a directory it does alone (a file "lock" says so), and so that the process
// may be killed at any time: the next call finishes what was begun.
package loggerdaily
