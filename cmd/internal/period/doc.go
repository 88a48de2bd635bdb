// Package period finds the archives that a reader of a period needs among those of a directory in a store, so that a minute of a year
// does not take the opening of a year of archives.
//
// Names of archives, and index objects where there are any, are used to decide where to look. The labels of the archives decide.
package period
