// Package controlfile reads the control files of pmlogger and pmie, which list the programs to run:
// a file "control" and all files in the directory "control.d" next to it, sorted by name.
//
//	$version=1.1
//	$PMCD_CONNECT_TIMEOUT=20
//	LOCALHOSTNAME  y  n  PCP_ARCHIVE_DIR/LOCALHOSTNAME  -r -T24h10m -c config.default
//
// A [Parser] reads them:
//
//	p := controlfile.NewParser(cfg)
//	for _, path := range files {
//		for line := range p.File(path) {
//			...
//		}
//	}
//
// In the C implementation a shell reads these files, so an assignment or a directory can run commands.
// Here no command is run. Quotes, $NAME, ${NAME}, ${NAME:-text} and three commands are evaluated without
// a shell: "date", "hostname" and "echo", in $(...) or backticks. A line with any other command is
// refused with an error that names it.
//
// Command pmlogctl also changes control files; [ReadRaw] returns their unmodified lines.
package controlfile
