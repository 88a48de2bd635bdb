// Package nginx is the agent for nginx: the page of its module stub_status.
//
//	a, err := nginx.New(nginx.Config{URL: "http://localhost/nginx_status"})
//
// Names and numbers of metrics are those of pmdanginx(1).
package nginx
