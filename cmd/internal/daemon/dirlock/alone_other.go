//go:build !unix

package dirlock

// alone does nothing: there are no such locks here.
func alone(string) (unlock func(), ok bool) { return func() {}, true }
