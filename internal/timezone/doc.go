// Package timezone finds the time zone of this host in the form that archives and
// collectors store: that of the variable TZ.
package timezone
