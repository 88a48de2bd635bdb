// Package sid computes the identifiers of schema 2 of pmseries(1): those of metrics, which
// are called series, of their instances, of sources and of strings.
//
//	id := sid.Metric("kernel.all.load", `{"hostname":"h"}`, desc)
//	fmt.Println(id) // 40 hexadecimal digits
//
// An identifier is the SHA-1 of a text of the form of JSON, and depends on nothing else: two
// servers that have archives of the same host give its series the same identifiers, and so does
// the C implementation. The texts are part of the schema; do not change them.
//
// Labels are those that identify: [Labels] leaves out optional ones. A metric has the labels of its
// context, domain, instance domain, cluster and item, an instance those of context, domain, instance
// domain and itself; the latter hide the former, and a label that is optional at the last of these places is
// left out altogether.
//
// The names and strings in the texts are not escaped.
package sid
