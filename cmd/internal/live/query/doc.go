// Package query is pcp query: it evaluates expressions of PromQL over archives and collectors.
package query
