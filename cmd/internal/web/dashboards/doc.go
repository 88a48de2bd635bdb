// Package dashboards keeps the dashboards of the page in a directory of the server, so that all browsers of a user have them.
//
//	h := dashboards.New(dashboards.Config{Dir: filepath.Join(dir, "dashboards")})
//	mux.Handle("/dashboards", h)
//
// GET /dashboards lists them with their contents. PUT /dashboards/ID writes one, and DELETE removes it. Each has a version, and a request
// names the version that it replaces, so that two browsers do not overwrite each other's changes. The server must show the Handler only to the
// user whom the dashboards belong to. The page checks the panels; this package checks only its form and size.
package dashboards
