// Package date is pmdate: it prints the date some time before or after now.
//
//	pmdate -1d %Y%m%d
package date
