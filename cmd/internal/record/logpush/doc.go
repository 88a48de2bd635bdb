// Package logpush is pmlogpush: it pushes an archive to a pmproxy of another host,
// which keeps it.
package logpush
