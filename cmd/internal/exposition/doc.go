// Package exposition writes metrics in the formats of web monitoring systems: in the text of
// Prometheus and OpenMetrics, and in the JSON of OTLP, the protocol of OpenTelemetry.
package exposition
