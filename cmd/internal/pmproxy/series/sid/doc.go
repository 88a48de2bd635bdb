// Package sid computes the identifiers of schema 2 of pmseries(1): those of metrics,
// called series, of their instances, of sources and of strings.
//
//	id := sid.Metric("kernel.all.load", `{"hostname":"h"}`, desc)
//	fmt.Println(id) // 40 hexadecimal digits
//
// An identifier is the SHA-1 of a JSON-like text, and depends on nothing else: two servers with
// archives of the same host give its series the same identifiers, which are also those of the C
// implementation. The texts are part of the schema; do not change them.
//
// Labels are the identifying ones: [Labels] leaves out optional labels. A metric has the labels of its
// context, domain, instance domain, cluster and item, an instance those of its context, domain, instance
// domain and itself. Later levels override earlier ones, and a label that is optional at its last level is
// left out altogether.
//
// The names and strings in the texts are not escaped.
package sid
