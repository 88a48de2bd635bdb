// Package web is the page that shows a collector and its archives in a browser.
//
//	h, err := web.New(web.Config{})
//	http.Handle("/", h)
//
// The page is one bundle of script and style, embedded, which asks nothing of other servers.
// Beside it, below the same path, it needs the REST interface of pmproxy: /pmapi, and /series
// for what was recorded; without the latter it shows only the present.
//
// The sources are TypeScript, in src, with the two libraries they use in vendor. The
// program in build, a module of its own, makes dist of them; dist/sources.sum tells which
// sources it was made of, and a test compares.
package web
