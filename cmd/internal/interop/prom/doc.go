// Package prom has the tests of /api/v1 with the programs that people use it with: Prometheus itself, promtool, the editor of its
// expressions, and the dashboards of others.
package prom
