// Package timezone tells the time zone of this host as archives and collectors
// write it down: in the form of the variable TZ.
package timezone
