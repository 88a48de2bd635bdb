// Package logconf generates the configuration of a recorder from groups of
// metrics, as pmlogconf(1) does.
//
//	c, err := pmapi.Dial(ctx, "local:")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	text, err := logconf.Generate(ctx, c, logconf.Builtin(), logconf.Config{})
//
// A group is a file: a description, metrics that are recorded together, their interval,
// and a probe. The probe requests one metric from the collector, and decides whether the
// group is included in the configuration, only available in it, or excluded:
//
//	#pmlogconf-setup 2.0
//	ident   activity of each disk
//	delta   1 minute
//	probe   hinv.ndisk > 0 ? include : exclude
//		disk.dev.read
//		disk.dev.write
//
// Agents install such files of their own; they are found below the directory of groups,
// at any depth. [Builtin] has groups for the agents of this project, for use without an
// installed directory.
//
// With [Config].Pmrep the same groups produce a configuration of pmrep, as pmrepconf(1) does.
//
// A [Set] can also read an existing configuration. The text after its line "DO NOT UPDATE
// THE FILE ABOVE THIS LINE" belongs to the user, and is preserved.
package logconf
