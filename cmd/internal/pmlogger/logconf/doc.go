// Package logconf makes the configuration of a recorder from groups of metrics, as
// pmlogconf(1) does.
//
//	c, err := pmapi.Dial(ctx, "local:")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	text, err := logconf.Generate(ctx, c, logconf.Builtin(), logconf.Config{})
//
// A group is a file: a description, metrics that are recorded together, how often, and a
// probe. The probe asks the collector for one metric, and decides whether the group is
// included in the configuration, only available in it, or excluded:
//
//	#pmlogconf-setup 2.0
//	ident   activity of each disk
//	delta   1 minute
//	probe   hinv.ndisk > 0 ? include : exclude
//		disk.dev.read
//		disk.dev.write
//
// Agents bring such files of their own; they are found below the directory of groups, at
// any depth. [Builtin] has groups for the agents of this project, for where no directory
// is installed.
//
// With [Config].Pmrep the same groups make a configuration of pmrep, as pmrepconf(1) does.
//
// A [Set] also reads back a configuration that was made before. What follows its line "DO
// NOT UPDATE THE FILE ABOVE THIS LINE" belongs to the user, and is kept as it is.
package logconf
