// Package push implements pcp push, which fills a database of the Prometheus family with archives. Package send has the work.
package push
