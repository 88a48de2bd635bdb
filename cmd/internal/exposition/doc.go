// Package exposition writes metrics as monitoring systems of the web want them: in the text of
// Prometheus and OpenMetrics, and in the JSON of OTLP, the protocol of OpenTelemetry.
package exposition
