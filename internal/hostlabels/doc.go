// Package hostlabels makes the labels of a context: what a collector, or a program
// with agents of its own, says about this host, its user and its site.
package hostlabels
