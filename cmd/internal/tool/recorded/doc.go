// Package recorded lists the archives of this host that are series, for the commands that find and
// serve them: those of its loggers, those of this user's collectors ("pcp up"), and those that "pcp
// series --load" was given.
//
//	dirs := recorded.Dirs(env, true)
//	list := recorded.ListOf(env, recorded.DefaultServer)
//	dirs = append(dirs, list.Paths()...)
package recorded
