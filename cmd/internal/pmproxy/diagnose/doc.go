// Package diagnose answers requests for diagnoses, as "pcp diagnose" makes them, over HTTP.
//
//	h := diagnose.New(diagnose.Config{Host: "localhost", Open: new(pmapi.Dialer).Dial, Archives: store.Recorded, Rules: rules})
//	http.Handle("/diagnose", h)
//
// GET /diagnose diagnoses a collector for a few seconds, or with start and end the archives of a host. The answer is JSON: the findings, the changes and the
// verdict, as "pcp diagnose --json" prints them (docs/web.md).
//
// A request ends when its client leaves, and after Timeout. One request at a time is carried out for a source, and few at all; the
// others wait, and too many are refused. The memory of each is bounded, as package diagnosis describes.
package diagnose
