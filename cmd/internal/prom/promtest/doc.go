// Package promtest runs the tests of Prometheus' engine over archives.
//
// It is a module of its own, since the package with these tests requires clients of clouds and of Kubernetes.
package promtest
