// Package promtest runs the tests of Prometheus' engine over archives and through HTTP, and
// compares requests with its own HTTP interface and its client for remote read.
//
// It is a module of its own, since the package with these tests requires clients of clouds and of Kubernetes.
package promtest
