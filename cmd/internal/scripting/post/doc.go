// Package post is pmpost: it appends a message to the NOTICES file.
//
//	pmpost "disk replaced"
package post
