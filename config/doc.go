// Package config is for programs that use the settings of an installation of PCP, from pcp.conf(5) and the
// environment, like pmGetConfig(3) and pmGetOptionalConfig(3).
//
//	cfg := config.New(os.Getenv)
//	logs := cfg.Get("PCP_LOG_DIR")
//
// The environment has precedence over the file, and the file over the built-in
// settings. A missing pcp.conf is not an error; [Config.Err] reports whether the
// file named by the environment could be read.
//
// [Config.Environ] is the counterpart of pcp.env(5): the environment that scripts of
// PCP expect, with the user's own file ~/.pcp/pcp.conf. That file is for scripts; as
// in C, the settings of a program do not depend on it.
//
// A program makes one [Config] and passes it to the types it uses (pmapi.Dialer,
// pmns.Loader, builtin.Env and others). Without a Config they use that of the
// process's environment, [Process].
package config
