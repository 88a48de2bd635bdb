// Package logbasename has pmlogbasename(1), which tells to which archive a file belongs.
package logbasename
