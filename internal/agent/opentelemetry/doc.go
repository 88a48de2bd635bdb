// Package opentelemetry is the agent for metrics that programs push: by OTLP over HTTP, and by the remote write of
// Prometheus, versions 1.0 and 2.0.
//
//	a, err := opentelemetry.New(opentelemetry.Config{Listen: "localhost:4318", Names: "/var/lib/example/names"})
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//
// A metric is called opentelemetry.SERVICE.NAME, where SERVICE is the resource attribute service.name, or the label job.
// Its instances are the combinations of attributes, or labels; package pushed keeps their numbers, and has the limits.
//
// The agent decodes the bytes itself. A request is decoded metric by metric, so it takes little more memory than its body.
package opentelemetry
