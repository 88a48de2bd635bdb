// Package logpush implements pmlogpush, which pushes an archive to a pmproxy on another
// host, which stores it.
package logpush
