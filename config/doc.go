// Package config finds the settings of an installation: pcp.conf(5) and the
// environment, as pmGetConfig(3) and pmGetOptionalConfig(3) do.
//
//	cfg, err := config.Load(os.Getenv)
//	if err != nil {
//		return err
//	}
//	logs := cfg.Get("PCP_LOG_DIR")
//
// The environment has precedence over the file, and the file over what is
// built in. A machine without pcp.conf is fine.
package config
