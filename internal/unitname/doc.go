// Package unitname has the names that units of PCP have in other systems: the codes of OpenTelemetry, which are those
// of the Unified Code for Units of Measure, and the words in names of Prometheus.
package unitname
