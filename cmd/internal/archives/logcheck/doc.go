// Package logcheck implements pmlogcheck, which examines archives for damage and for
// implausible values. Package archives/internal/check does the work.
package logcheck
