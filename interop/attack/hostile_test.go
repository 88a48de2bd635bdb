package attack

const hostileEnv = "ATTACK_AGENT"

func hostileAgent(mode string) {}
