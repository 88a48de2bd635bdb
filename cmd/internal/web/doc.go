// Package web serves the page that shows a collector and its archives in a browser.
//
//	h, err := web.New(web.Config{})
//	http.Handle("/", h)
//
// The page is one embedded bundle of script and style, which sends no requests to other
// servers. It needs the REST interface of pmproxy at the same path: /pmapi, and /series for
// recorded values; without the latter it shows only the present.
//
// The sources are TypeScript, in src, with the two libraries they use in vendor. The
// program in build, a separate module, builds dist from them; dist/sources.sum lists the
// sources that were built, and a test compares.
package web
