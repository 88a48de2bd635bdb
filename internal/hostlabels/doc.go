// Package hostlabels makes the labels of a context, with which a collector, or a
// program with agents of its own, describes this host, its user and its site.
package hostlabels
