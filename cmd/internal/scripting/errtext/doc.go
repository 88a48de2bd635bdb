// Package errtext is pmerr: it translates status codes into their messages.
//
//	pmerr -12357
//	pmerr --list
package errtext
