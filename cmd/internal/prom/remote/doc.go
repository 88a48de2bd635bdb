// Package remote sends samples to databases of the Prometheus family by remote write, version 2.0 or 1.0, and asks them
// questions by their HTTP API.
//
//	c, err := remote.New(remote.Config{URL: "http://localhost:9090"})
//	...
//	out, err := c.Write(ctx, series, nil)
//
// The client negotiates the version with the first request: it sends 2.0, and continues with 1.0 if the reply is 415, a
// 400 or a success without the headers that 2.0 requires. A request that fails in a way that may pass (no reply, 429,
// 5xx) is repeated until [Config.Retry] has passed, at growing, random intervals and not before the time of Retry-After. A
// request whose contents are refused is never repeated.
//
// An [Encoder] makes the bytes of a request. In both versions a series is its labels, of which __name__ is one, and
// samples of a time and a value:
//
//	2.0  symbols 4*string  series 5*{labels 1:packed refs, samples 2*{value 1:double, time 2:ms}, metadata 5:{type 1, help 3, unit 4}}
//	1.0  series 1*{labels 1*{name 1, value 2}, samples 2*{value 1:double, time 2:ms}}  metadata 3*{type 1, name 2, help 4, unit 5}
package remote
